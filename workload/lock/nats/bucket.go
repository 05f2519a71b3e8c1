package nats

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The names of the key-value API on the wire (NATS ADR-8 and ADR-48).
const (
	operationHeader = "KV-Operation" // of a deletion: DEL or PURGE
	deletion        = "DEL"
)

// bucket is a bucket, and the stream that it is.
type bucket struct {
	js     jetstream.JetStream
	kv     jetstream.KeyValue
	stream jetstream.Stream
	age    time.Duration // limit
}

func makeBucket(ctx context.Context, js jetstream.JetStream, name string, age time.Duration) (*bucket, error) {
	kv, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket:         name,
		Description:    "locks of a leasehold campaign",
		TTL:            age,
		LimitMarkerTTL: age, // or nobody is told of an expiry
	})
	if errors.Is(err, jetstream.ErrBucketExists) { // with other settings: see below
		kv, err = js.KeyValue(ctx, name)
	}
	if err != nil {
		return nil, fmt.Errorf("make bucket %s: %w", name, err)
	}
	status, err := kv.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at bucket %s: %w", name, err)
	}
	if status.TTL() != age {
		return nil, otherAge(status.TTL(), age)
	}
	stream, err := js.Stream(ctx, "KV_"+name)
	if err != nil {
		return nil, fmt.Errorf("look at bucket %s: %w", name, err)
	}
	return &bucket{js: js, kv: kv, stream: stream, age: age}, nil
}

// state is what a key is.
type state struct {
	value    string
	live     bool   // there is a value
	revision uint64 // of the value, or of the marker of its end; 0 if there is neither
}

func (s state) has(value string) bool { return s.live && s.value == value }

// look is KeyValue.Get, which keeps the revision of a marker to itself.
func (b *bucket) look(ctx context.Context, key string) (state, error) {
	m, err := b.stream.GetLastMsgForSubject(ctx, b.subject(key))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return state{}, nil
	}
	if err != nil {
		return state{}, fmt.Errorf("look at the key: %w", err)
	}
	marker := m.Header.Get(operationHeader) != "" || m.Header.Get(jetstream.MarkerReasonHeader) != ""
	return state{value: string(m.Data), live: !marker, revision: m.Sequence}, nil
}

// mark deletes the key as KeyValue.Delete does, if it has the revision. Delete itself
// takes revision 0 for "any".
func (b *bucket) mark(ctx context.Context, key string, revision uint64) error {
	m := nats.NewMsg(b.subject(key))
	m.Header.Set(operationHeader, deletion)
	_, err := b.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(revision), jetstream.WithRetryAttempts(0))
	return err
}

func (b *bucket) subject(key string) string { return "$KV." + b.kv.Bucket() + "." + key }

// bucketName makes a name out of a prefix: readable as far as a bucket's name may be,
// and different for every prefix.
func bucketName(prefix string) string {
	const most = 100
	readable := []byte(prefix[:min(len(prefix), most)])
	for i, c := range readable {
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9') {
			readable[i] = '_'
		}
	}
	sum := sha256.Sum256([]byte(prefix))
	return string(readable) + "-" + hex.EncodeToString(sum[:8])
}
