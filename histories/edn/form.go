package edn

import (
	"errors"

	"github.com/leasehold-checker/leasehold/histories"
)

// form is how the values of a file's register operations are written.
type form struct {
	keyed     bool // [key x]: an independent tuple
	versioned bool // [version x]: the register's own number, nil if unknown
}

var (
	errForm = errors.New("its value has another form than those before")
	errSwap = errors.New("its value is not [old new]")
)

// formOf finds the form by the invocation of the first read, which has nothing to
// say but its key: nil, [key nil], [nil nil] or [key [nil nil]]. A file without reads
// has the widest form that fits all writes: nothing depends on it then.
func (b *builder) formOf(calls []*call) (form, error) {
	widest := form{keyed: true, versioned: true}
	for _, c := range calls {
		v, err := b.parse(c, c.asked)
		if err != nil {
			return form{}, err
		}
		if c.f == "read" {
			return formOfRead(v), nil
		}
		fits := formOfWrite(v, c.f == "cas")
		widest.keyed = widest.keyed && fits.keyed
		widest.versioned = widest.versioned && fits.versioned
	}
	return widest, nil
}

func formOfRead(v any) form {
	outer, paired := tuple(v)
	if !paired {
		return form{}
	}
	inner, nested := tuple(outer[1])
	return form{keyed: outer[0] != nil || nested, versioned: outer[0] == nil && !nested || nested && inner[0] == nil}
}

// formOfWrite: a version is unknown before the answer.
func formOfWrite(v any, swap bool) form {
	outer, paired := tuple(v)
	if !paired {
		return form{}
	}
	if outer[0] == nil && !swap {
		return form{versioned: true}
	}
	inner, nested := tuple(outer[1])
	return form{keyed: nested || !swap, versioned: nested && inner[0] == nil}
}

// split takes a value apart. The version is not looked at: as the register's own
// number it would win over real time, and a stale read would be explained by it.
func (f form) split(v any) (key string, rest any, err error) {
	key = onlyRegister
	if f.keyed {
		pair, ok := tuple(v)
		if !ok {
			return "", nil, errForm
		}
		key, v = keyName(pair[0]), pair[1]
	}
	if f.versioned {
		pair, ok := tuple(v)
		if !ok {
			return "", nil, errForm
		}
		v = pair[1]
	}
	return key, v, nil
}

// fill reads what was asked for, and what was got.
func (o *registerOp) fill(f form, asked, got any) error {
	key, value, err := f.split(asked)
	if err != nil {
		return err
	}
	o.key = key
	answer := value
	if o.kind == histories.OK && (got != nil || o.f == "read") {
		if key, answer, err = f.split(got); err != nil {
			return err
		}
		if key != o.key {
			return errors.New("it is answered for another key")
		}
	}
	switch o.f {
	case "read":
		if o.kind == histories.OK {
			o.read = histories.Some(text(answer))
		}
	case "write":
		o.written = histories.Some(text(value))
	default:
		pair, ok := tuple(value)
		if !ok {
			return errSwap
		}
		o.read, o.written = histories.Some(text(pair[0])), histories.Some(text(pair[1]))
	}
	return nil
}
