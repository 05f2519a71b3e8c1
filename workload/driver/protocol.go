package driver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/leasehold-checker/leasehold/histories"
)

// The operations that a driver is asked for.
const (
	OpDescribe = "describe"
	OpInit     = "init"
	OpAcquire  = "acquire"
	OpCheck    = "check"
	OpAsk      = "ask"
	OpRelease  = "release"
	OpShutdown = "shutdown"
)

// Request is a line that a driver gets.
type Request struct {
	ID        int64    `json:"id"`
	Op        string   `json:"op"`
	Protocol  int      `json:"protocol,omitempty"`  // describe
	Worker    string   `json:"worker,omitempty"`    // init: a name, different for every process
	Endpoints []string `json:"endpoints,omitempty"` // init: where the lock store is
	Prefix    string   `json:"prefix,omitempty"`    // init: every key of the store has to begin with it
	Key       string   `json:"key,omitempty"`       // acquire, check, ask, release
	TTLMS     int64    `json:"ttl_ms,omitempty"`    // acquire
	WaitMS    int64    `json:"wait_ms,omitempty"`   // acquire: how long to wait for the lock
}

// Response is a line that a driver answers with, or by which it tells something on its own.
type Response struct {
	ID    *int64 `json:"id,omitempty"`
	OK    *bool  `json:"ok,omitempty"`
	Event string `json:"event,omitempty"` // lost or renewed; then there is no id

	// describe
	Protocol   int    `json:"protocol,omitempty"`
	Driver     string `json:"driver,omitempty"`       // name/version
	Store      string `json:"store,omitempty"`        // the lock store that it wants: redis, zookeeper, ...; none
	Tokens     bool   `json:"tokens,omitempty"`       // it issues fencing tokens
	CanAsk     bool   `json:"can_ask,omitempty"`      // it answers ask
	LeastTTLMS int64  `json:"least_ttl_ms,omitempty"` // no shorter lease is granted
	LateMS     int64  `json:"late_ms,omitempty"`      // so much later than the ttl others may have to wait

	Token   *string `json:"token,omitempty"`  // acquire: decimal, so that 64 bits survive JavaScript
	TTLMS   int64   `json:"ttl_ms,omitempty"` // acquire, renewed: what was granted
	Session string  `json:"session,omitempty"`
	Held    *bool   `json:"held,omitempty"` // check, ask

	Err      string `json:"err,omitempty"`      // not ok: a word
	Definite bool   `json:"definite,omitempty"` // not ok: it did not happen, and will not
	Text     string `json:"text,omitempty"`     // for people

	Key    string `json:"key,omitempty"`     // events
	MonoNS int64  `json:"mono_ns,omitempty"` // events: CLOCK_MONOTONIC of the driver
}

// The events.
const (
	EventLost    = "lost"
	EventRenewed = "renewed"
)

// errWords are the words that a driver may give for a definite no.
var errWords = map[string]string{
	"held": histories.ErrHeld, "lost": histories.ErrLost,
}

// parse reads a line of a driver. Its errors are sentences for the driver's author.
func parse(line []byte) (*Response, error) {
	var r Response
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
			return nil, errors.New("it is no JSON object: standard output is for the protocol alone, everything else belongs on standard error")
		}
		return nil, fmt.Errorf("it can't be read: %w", err)
	}
	if d.More() {
		return nil, errors.New("it holds more than one JSON object: each has a line of its own")
	}
	switch {
	case r.Event != "" && r.ID != nil:
		return nil, errors.New("it is an event and has an id: an event answers nothing")
	case r.Event != "" && r.Event != EventLost && r.Event != EventRenewed:
		return nil, fmt.Errorf("there is no event %q: there are lost and renewed", r.Event)
	case r.Event != "":
		return &r, nil
	case r.ID == nil:
		return nil, errors.New("it has neither an id nor an event")
	case r.OK == nil:
		return nil, errors.New(`it does not say "ok": true or false`)
	case !*r.OK && r.Err == "":
		return nil, errors.New(`it is not ok, and does not say why in "err"`)
	}
	return &r, nil
}

// token is the fencing token of an acquire's answer.
func (r *Response) token() (int64, bool, error) {
	if r.Token == nil {
		return 0, false, nil
	}
	n, err := strconv.ParseInt(*r.Token, 10, 64)
	if err != nil {
		return 0, false, fmt.Errorf("the token %q is no decimal number of 64 bits", *r.Token)
	}
	return n, true, nil
}
