package consul

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/leasehold-checker/leasehold/histories"
	"github.com/leasehold-checker/leasehold/workload/lock"
)

const (
	createPath  = "/v1/session/create"
	renewPath   = "/v1/session/renew/"
	destroyPath = "/v1/session/destroy/"
	keyPath     = "/v1/kv/"
)

// most is more than the server answers to anything that we ask.
const most = 1 << 24

// wire is the transport of one api.Lock: through it we see what the library keeps to
// itself, and bound what it would wait for without end.
type wire struct {
	base     http.RoundTripper
	open     context.Context // the end of the client ends every request
	listener lock.Listener   // nil: of a client for questions

	mu      sync.Mutex
	bound   context.Context // bounds the requests made on the worker's behalf; nil: none
	session string
	refusal error  // of the session
	unlock  string // the server's answer to the last unlock
}

// bind bounds, from now on, what the library does for the worker.
func (w *wire) bind(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bound = ctx
}

// made is the session, or why the server would not make it.
func (w *wire) made() (session string, refusal error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.session, w.refusal
}

func (w *wire) unlockAnswer() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unlock
}

// RoundTrip sends a request.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.listener == nil {
		return w.send(r, nil)
	}
	path := r.URL.Path
	switch {
	case strings.HasPrefix(path, renewPath):
		return w.renew(r, strings.TrimPrefix(path, renewPath))
	case strings.HasPrefix(path, destroyPath):
		ctx, cancel := context.WithTimeout(w.open, tidyLimit)
		defer cancel()
		return w.send(r, ctx)
	case path == createPath:
		resp, err := w.send(r, w.bounds())
		if err == nil {
			w.created(resp)
		}
		return resp, err
	case r.URL.Query().Has("release"):
		return w.release(r)
	case r.URL.Query().Has("consistent"):
		return w.send(r, nil) // the library's watch on the key that it holds
	}
	return w.send(r, w.bounds())
}

func (w *wire) bounds() context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bound
}

// send sends a request and reads the whole answer. bound, if not nil, ends it, as the
// end of the client does.
func (w *wire) send(r *http.Request, bound context.Context) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(w.open, func() { cancel(errors.New("the client was closed")) })()
	if bound != nil {
		if err := bound.Err(); err != nil {
			return nil, err
		}
		defer context.AfterFunc(bound, func() { cancel(bound.Err()) })()
	}
	resp, err := w.base.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, why(ctx, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return nil, why(ctx, err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

func why(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// peek reads the answer and leaves it to be read again.
func peek(resp *http.Response) []byte {
	body, _ := io.ReadAll(resp.Body) // from memory
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return body
}

func (w *wire) created(resp *http.Response) {
	body := peek(resp)
	var made struct{ ID string }
	if resp.StatusCode == http.StatusOK && json.Unmarshal(body, &made) == nil && made.ID != "" {
		w.mu.Lock()
		w.session = made.ID
		w.mu.Unlock()
		w.listener.Began(made.ID)
		return
	}
	// The server uses codes 400 and 500 for it. Another 500 is no refusal.
	if bytes.Contains(body, []byte("TTL")) {
		w.mu.Lock()
		w.refusal = fmt.Errorf("make session: %s", bytes.TrimSpace(body))
		w.mu.Unlock()
	}
}

func (w *wire) release(r *http.Request) (*http.Response, error) {
	w.mu.Lock()
	w.unlock = ""
	w.mu.Unlock()
	resp, err := w.send(r, w.bounds())
	if err == nil && resp.StatusCode == http.StatusOK {
		answer := string(bytes.TrimSpace(peek(resp)))
		w.mu.Lock()
		w.unlock = answer
		w.mu.Unlock()
	}
	return resp, err
}

// renew reports the renewal before a byte of it is sent.
func (w *wire) renew(r *http.Request, session string) (*http.Response, error) {
	answered := w.listener.Renewing(session)
	resp, err := w.send(r, nil)
	if err != nil {
		answered(0, fmt.Errorf("renew: %w", err))
		return resp, err
	}
	answered(renewal(resp.StatusCode, peek(resp)))
	return resp, nil
}

// renewal reads the answer to a renewal.
func renewal(code int, body []byte) (time.Duration, error) {
	if code == http.StatusNotFound {
		return 0, lock.Definite(histories.ErrLost, errors.New("renew: the session is gone"))
	}
	var sessions []struct{ TTL string }
	if code != http.StatusOK || json.Unmarshal(body, &sessions) != nil || len(sessions) != 1 {
		return 0, fmt.Errorf("renew: code %d: %.100s", code, body)
	}
	ttl, err := time.ParseDuration(sessions[0].TTL)
	if err != nil {
		return 0, fmt.Errorf("renew: %w", err)
	}
	return ttl, nil
}
