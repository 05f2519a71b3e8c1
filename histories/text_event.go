package histories

import (
	"errors"
	"fmt"
	"strings"
)

// parseEvent reads what follows the operation on a line of the nemesis or the
// store: "pause P", "expire LOCK of P", or any other word; then words like
// point=X, then free text. Where free text could be taken for something else,
// text= stands before it.
func parseEvent(s string, o *Operation) error {
	s, result, there := cutLastResult(s)
	s, err := parseEventTarget(s, o)
	if err != nil {
		return err
	}
	if s, err = parseEventWords(s, o); err != nil {
		return err
	}
	if positional(o) && s != "" {
		return fmt.Errorf("unknown word %.40q; free text needs text= before it here", strings.Fields(s)[0])
	}
	if s != "" {
		o.Text = s
	}
	switch {
	case there:
	case o.Return == Never:
		result = string(Info)
	default:
		result = string(OK)
	}
	return parseResult(result, o)
}

// positional tells whether the operation names its target without target=.
func positional(o *Operation) bool {
	if o.Process == Nemesis {
		return targeted(o.F)
	}
	return o.F == Expire || o.F == Revoke
}

func parseEventTarget(s string, o *Operation) (string, error) {
	if !positional(o) {
		return s, nil
	}
	take := func() (word string) {
		word, s = cutWord(s)
		return word
	}
	if o.Process == Store {
		o.Lock = take()
		if of := take(); of != "of" {
			return s, fmt.Errorf("want %s LOCK of P", o.F)
		}
	}
	o.Target = take()
	if _, isArgument := parseArgument(o.Target); o.Target == "" || isArgument {
		return s, fmt.Errorf("%s without a target", o.F)
	}
	return s, nil
}

// parseEventWords reads words like point=X and text=, and leaves the rest.
func parseEventWords(s string, o *Operation) (string, error) {
	var seen keySet
	for {
		word, rest := cutWord(s)
		a, ok := parseArgument(word)
		if !ok || !allowedKeys(o.Process, o.F, Invoke).has(a.key) {
			return s, nil
		}
		if a.key == keyText {
			if o.Text = strings.TrimPrefix(s, "text="); o.Text == "" {
				return "", errors.New("nothing after text=")
			}
			return "", nil
		}
		if seen.has(a.key) || positional(o) && a.key != keyPoint {
			return s, fmt.Errorf("%.40q stands twice", a.key)
		}
		seen |= 1 << a.key
		if err := o.set(a, Invoke); err != nil {
			return s, fmt.Errorf("%s: %w", word, err)
		}
		s = rest
	}
}

// appendEvent is the inverse of parseEvent, but for the result.
func appendEvent(b []byte, o *Operation) []byte {
	if positional(o) && o.Process == Store {
		b = append(append(b, ' '), o.Lock...)
		b = append(b, " of"...)
	}
	if positional(o) {
		b = append(append(b, ' '), o.Target...)
	} else {
		b = appendWord(b, "target", o.Target)
		b = appendWord(b, "lock", o.Lock)
	}
	b = appendWord(b, "point", string(o.Point))
	if o.Text == "" {
		return b
	}
	word, _ := cutWord(o.Text)
	if a, ok := parseArgument(word); positional(o) || ok && allowedKeys(o.Process, o.F, Invoke).has(a.key) {
		return append(append(b, " text="...), o.Text...)
	}
	return append(append(b, ' '), o.Text...)
}
