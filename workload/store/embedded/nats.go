package embedded

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const natsNode = "nats-1"

// NATSConfig is what a NATS server of one node needs. Its JSON form is the config of
// the child.
type NATSConfig struct {
	Dir  string `json:"dir"`            // for its data; made if it is not there
	Name string `json:"name,omitempty"` // of the node; if empty, "nats-1"
	// Listen is the address to serve clients at, "host:port". If empty, a free port of
	// the loopback address.
	Listen string `json:"listen,omitempty"`
}

// ServeNATS runs a NATS server of one node, with JetStream in files and otherwise
// its default settings, and logs warnings to standard error. It calls ready when a value was
// written into a JetStream bucket and read back through a client, and returns nil
// when ctx ends.
func ServeNATS(ctx context.Context, config NATSConfig, ready func(endpoint string)) error {
	options, err := natsOptions(config)
	if err != nil {
		return fmt.Errorf("start NATS: %w", err)
	}
	s, err := server.NewServer(options)
	if err != nil {
		return fmt.Errorf("start NATS: %w", err)
	}
	log := natsLog{Logger: log.New(os.Stderr, "", log.LstdFlags|log.LUTC), fatal: make(chan error, 1)}
	s.SetLoggerV2(log, false, false, false)
	go func() {
		s.Start()
		s.WaitForShutdown()
		log.Fatalf("the server stopped")
	}()
	defer s.Shutdown()
	endpoint, err := awaitNATS(ctx, s, log.fatal)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("wait for NATS: %w", err)
	}
	ready(endpoint)
	select {
	case <-ctx.Done():
		return nil
	case err := <-log.fatal:
		return fmt.Errorf("run NATS: %w", err)
	}
}

// natsLog is the server's log. What is fatal to the server is an error here: it has no
// other way to tell why it does not start, and by default exits the process.
type natsLog struct {
	*log.Logger
	fatal chan error // the first
}

var _ server.Logger = natsLog{}

func (l natsLog) Fatalf(format string, v ...any) {
	err := fmt.Errorf(format, v...)
	select {
	case l.fatal <- err:
	default:
	}
}

func (l natsLog) Errorf(format string, v ...any) { l.Printf("error: "+format, v...) }
func (l natsLog) Warnf(format string, v ...any)  { l.Printf("warning: "+format, v...) }
func (natsLog) Noticef(string, ...any)           {}
func (natsLog) Debugf(string, ...any)            {}
func (natsLog) Tracef(string, ...any)            {}

func natsOptions(config NATSConfig) (*server.Options, error) {
	o := &server.Options{
		ServerName: config.Name,
		Host:       "127.0.0.1",
		Port:       server.RANDOM_PORT,
		JetStream:  true,
		StoreDir:   config.Dir,
		NoSigs:     true, // signals are the caller's business
	}
	if o.ServerName == "" {
		o.ServerName = natsNode
	}
	if config.Listen == "" {
		return o, nil
	}
	host, port, err := net.SplitHostPort(config.Listen)
	if err != nil {
		return nil, fmt.Errorf("address to listen at: %w", err)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("address to listen at: port %q: %w", port, err)
	}
	o.Host, o.Port = host, int(number)
	if number == 0 {
		o.Port = server.RANDOM_PORT
	}
	return o, nil
}

// awaitNATS waits until the server does what it is for. The endpoint that it
// returns can be dialled from this host.
func awaitNATS(ctx context.Context, s *server.Server, fatal <-chan error) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	up := make(chan bool, 1)
	go func() { up <- s.ReadyForConnections(readyLimit) }()
	select {
	case ok := <-up:
		if !ok {
			return "", errors.New("no client is let in")
		}
	case err := <-fatal:
		return "", err
	case <-ctx.Done():
		return "", ctx.Err()
	}
	endpoint, err := natsEndpoint(s.Addr())
	if err != nil {
		return "", err
	}
	client, err := nats.Connect(endpoint, nats.NoReconnect())
	if err != nil {
		return "", err
	}
	defer client.Close()
	return endpoint, putAndGet(ctx, client)
}

func natsEndpoint(listening net.Addr) (string, error) {
	tcp, ok := listening.(*net.TCPAddr)
	if !ok {
		return "", fmt.Errorf("it listens at no TCP address, but at %v", listening)
	}
	host := tcp.IP.String()
	if tcp.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "nats://" + net.JoinHostPort(host, strconv.Itoa(tcp.Port)), nil
}

// putAndGet leaves nothing behind in the store.
func putAndGet(ctx context.Context, client *nats.Conn) error {
	const bucket, key, value = "leasehold-ready", "ready", "yes"
	js, err := jetstream.New(client)
	if err != nil {
		return err
	}
	kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: bucket})
	if err != nil {
		return fmt.Errorf("create bucket: %w", err)
	}
	if _, err := kv.Put(ctx, key, []byte(value)); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	answer, err := kv.Get(ctx, key)
	if err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if string(answer.Value()) != value {
		return fmt.Errorf("read: not what was written: %q", answer.Value())
	}
	if err := js.DeleteKeyValue(ctx, bucket); err != nil {
		return fmt.Errorf("delete bucket: %w", err)
	}
	return nil
}
