package container

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/moby/moby/api/pkg/stdcopy"
	"github.com/moby/moby/client"
)

const (
	lastWords = time.Second
	tailBytes = 2000
	tailLines = 8
)

// follower copies a container's output into a file, from one start to its end.
type follower struct {
	asked  atomic.Bool     // whether it is us who end the container
	ctx    context.Context // ends when the output is no longer wanted
	cancel context.CancelFunc
	done   chan struct{} // closed when all of it is in the file
	path   string
}

// follow appends to the file what the container says from the time since on.
func follow(api *client.Client, id, since, path string) (*follower, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	f := &follower{done: make(chan struct{}), path: path}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	output, err := api.ContainerLogs(f.ctx, id, client.ContainerLogsOptions{
		ShowStdout: true, ShowStderr: true, Follow: true, Since: since,
	})
	if err != nil {
		f.cancel()
		return nil, fmt.Errorf("follow the log: %w", closing(file, err))
	}
	go func() {
		defer close(f.done)
		defer file.Close()
		defer output.Close()
		// However it ends, the rest is with the engine, and `docker logs` tells it.
		_, _ = stdcopy.StdCopy(file, file, output)
	}()
	return f, nil
}

func closing(file *os.File, err error) error {
	file.Close()
	return err
}

// close ends it, and leaves it a moment for what the engine has still to tell of a
// container that has ended.
func (f *follower) close() {
	select {
	case <-f.done:
	case <-time.After(lastWords):
	}
	f.cancel()
	<-f.done
}

// tail is the end of the file, each line on its own and indented.
func (f *follower) tail() string {
	file, err := os.Open(f.path)
	if err != nil {
		return ""
	}
	defer file.Close()
	if size, err := file.Seek(0, io.SeekEnd); err == nil {
		_, _ = file.Seek(max(0, size-tailBytes), io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(file, tailBytes))
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	lines = lines[max(0, len(lines)-tailLines):]
	return "\n  " + string(bytes.Join(lines, []byte("\n  ")))
}
