package histories

import (
	"fmt"
	"math/bits"
)

// key is an attribute of an event, by its name in JSON Lines.
type key uint8

const (
	keyIndex key = iota
	keyTime
	keyProcess
	keyOp
	keyType
	keyF
	keyLock
	keyGrant
	keyMode
	keySession
	keyTTL
	keyToken
	keyResource
	keyValue
	keyUnder
	keySeq
	keyHeld
	keyCount
	keyError
	keyTarget
	keyPoint
	keyText
	numKeys
)

// keyNames is indexed by key.
var keyNames = [numKeys]string{
	"index", "time_ns", "process", "op", "type", "f",
	"lock", "grant", "mode", "session", "ttl_ms", "token",
	"resource", "value", "under", "seq", "held", "count", "error",
	"target", "point", "text",
}

func (k key) String() string { return keyNames[k] }

// lookupKey finds a key by its name. The switch costs no allocation, and less
// than a map.
func lookupKey(name []byte) (key, bool) {
	switch string(name) {
	case "index":
		return keyIndex, true
	case "time_ns":
		return keyTime, true
	case "process":
		return keyProcess, true
	case "op":
		return keyOp, true
	case "type":
		return keyType, true
	case "f":
		return keyF, true
	case "lock":
		return keyLock, true
	case "grant":
		return keyGrant, true
	case "mode":
		return keyMode, true
	case "session":
		return keySession, true
	case "ttl_ms":
		return keyTTL, true
	case "token":
		return keyToken, true
	case "resource":
		return keyResource, true
	case "value":
		return keyValue, true
	case "under":
		return keyUnder, true
	case "seq":
		return keySeq, true
	case "held":
		return keyHeld, true
	case "count":
		return keyCount, true
	case "error":
		return keyError, true
	case "target":
		return keyTarget, true
	case "point":
		return keyPoint, true
	case "text":
		return keyText, true
	}
	return 0, false
}

// keySet is a set of keys.
type keySet uint32

func keysOf(ks ...key) keySet {
	var s keySet
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

func (s keySet) has(k key) bool { return s&(1<<k) != 0 }

func (s keySet) with(k key, yes bool) keySet {
	if yes {
		return s | 1<<k
	}
	return s
}

// first is the lowest key of a set that is not empty.
func (s keySet) first() key { return key(bits.TrailingZeros32(uint32(s))) }

// required are the keys that every event has; only index may be missing beside
// them, in the file of one process.
const required = keySet(1<<keyTime | 1<<keyProcess | 1<<keyOp | 1<<keyType | 1<<keyF)

// event is one line: half an operation. What does not stand in keys is left over from
// a line before: clearing all of it would cost more than reading the line.
type event struct {
	keys    keySet
	kind    Type
	held    bool
	line    int // of the file
	numbers [numKeys]int64
	texts   [numKeys]string
}

// process and the others below are of a line that has all required keys.
func (e *event) process() string { return e.texts[keyProcess] }
func (e *event) f() F            { return F(e.texts[keyF]) }
func (e *event) id() int64       { return e.numbers[keyOp] }
func (e *event) time() int64     { return e.numbers[keyTime] }

// check judges an event by itself, whatever stands before it.
func (e *event) check() error {
	if err := checkFunction(e.process(), e.f()); err != nil {
		return err
	}
	if err := checkKeys(e.process(), e.f(), e.kind, e.keys&^(required|1<<keyIndex)); err != nil {
		return err
	}
	if ttl := e.numbers[keyTTL]; e.keys.has(keyTTL) && ttl <= 0 {
		return fmt.Errorf("ttl_ms %d is not positive", ttl)
	}
	if e.time() < 0 {
		return fmt.Errorf("time_ns %d is negative", e.time())
	}
	return nil
}

// fill sets what the event says of the operation.
func (e *event) fill(o *Operation) {
	for rest := e.keys &^ (required | 1<<keyIndex); rest != 0; rest &= rest - 1 {
		switch k := rest.first(); k {
		case keyTTL:
			if e.kind == Invoke {
				o.TTLAsked = e.numbers[k]
			} else {
				o.TTL = e.numbers[k]
			}
		case keyToken:
			o.Token = Some(e.numbers[k])
		case keySeq:
			o.Seq = Some(e.numbers[k])
		case keyCount:
			o.HoldsLeft = Some(e.numbers[k])
		case keyHeld:
			o.Held = Some(e.held)
		case keyValue:
			o.Value = Some(e.texts[k])
		case keyGrant:
			o.Grant, o.GrantLate = e.texts[k], e.kind != Invoke
		default:
			*textOf(o, k) = e.texts[k]
		}
	}
}

// textOf is where an operation keeps a text that is empty if it was not said.
func textOf(o *Operation, k key) *string {
	switch k {
	case keyLock:
		return &o.Lock
	case keyMode:
		return &o.Mode
	case keySession:
		return &o.Session
	case keyResource:
		return &o.Resource
	case keyUnder:
		return &o.Under
	case keyError:
		return &o.Error
	case keyTarget:
		return &o.Target
	case keyPoint:
		return (*string)(&o.Point)
	}
	return &o.Text
}

// askedKeys are the attributes that an operation shows when it is invoked:
// everything that its process knew before it sent the request.
func askedKeys(o *Operation) keySet {
	var s keySet
	return s.
		with(keyLock, o.Lock != "").
		with(keyGrant, o.Grant != "" && !o.GrantLate).
		with(keyMode, o.Mode != "").
		with(keySession, o.Session != "").
		with(keyTTL, o.TTLAsked != 0).
		with(keyToken, o.Token.Known() && o.F != Acquire).
		with(keyResource, o.Resource != "").
		with(keyValue, o.Value.Known() && o.F == Write).
		with(keyUnder, o.Under != "").
		with(keyTarget, o.Target != "").
		with(keyPoint, o.Point != "").
		with(keyText, o.Text != "")
}

// answeredKeys are the attributes that the answer brought.
func answeredKeys(o *Operation) keySet {
	var s keySet
	return s.
		with(keyGrant, o.Grant != "" && o.GrantLate).
		with(keyTTL, o.TTL != 0).
		with(keyToken, o.Token.Known() && o.F == Acquire).
		with(keyValue, o.Value.Known() && o.F != Write).
		with(keySeq, o.Seq.Known()).
		with(keyHeld, o.Held.Known()).
		with(keyCount, o.HoldsLeft.Known()).
		with(keyError, o.Error != "")
}

// allowedKeys are the attributes that an event of this process, function and type
// may have.
func allowedKeys(process string, f F, t Type) keySet {
	if t == Invoke {
		return allowedAsked(process, f)
	}
	return allowedAnswered(process, f, t)
}

func allowedAsked(process string, f F) keySet {
	onLock := keysOf(keyLock, keyGrant, keySession)
	onResource := keysOf(keyResource, keyLock, keyGrant, keyToken)
	switch {
	case process == Nemesis:
		return keysOf(keyTarget, keyPoint, keyText)
	case process == Store:
		return keysOf(keyTarget, keyLock, keyText)
	case f == Acquire:
		return onLock | keysOf(keyMode, keyTTL)
	case f == Renew:
		return onLock | keysOf(keyTTL)
	case f.OnLock():
		return onLock
	case f == Write:
		return onResource | keysOf(keyValue, keyUnder)
	case f.OnResource():
		return onResource
	}
	return 0
}

func allowedAnswered(process string, f F, t Type) keySet {
	worker := process != Nemesis && process != Store
	numbered := worker && f.OnResource()
	switch {
	case t == Info:
		return keysOf(keyError)
	case t == Fail && numbered:
		return keysOf(keyError, keySeq)
	case t == Fail:
		return keysOf(keyError)
	case !worker:
		return 0
	case f == Acquire:
		return keysOf(keyGrant, keyTTL, keyToken, keyCount)
	case f == Renew:
		return keysOf(keyTTL, keyCount)
	case f == Release:
		return keysOf(keyCount)
	case f == Check:
		return keysOf(keyHeld, keyCount)
	case f == Read:
		return keysOf(keyValue, keySeq)
	case numbered:
		return keysOf(keySeq)
	}
	return 0
}

// checkKeys says which attribute has no place on such an event.
func checkKeys(process string, f F, t Type, have keySet) error {
	if extra := have &^ allowedKeys(process, f, t); extra != 0 {
		return fmt.Errorf("%s is not allowed on the %s of %s", extra.first(), t, f)
	}
	return nil
}

// checkFunction says whether the process can do f.
func checkFunction(process string, f F) error {
	byWorker := f.OnLock() || f.OnResource()
	switch worker := process != Nemesis && process != Store; {
	case process == "":
		return fmt.Errorf("no process")
	case f == "":
		return fmt.Errorf("no function")
	case worker && !byWorker:
		return fmt.Errorf("unknown function %q of a worker", f)
	case !worker && byWorker:
		return fmt.Errorf("%s is a function of workers, not of %s", f, process)
	}
	return nil
}
