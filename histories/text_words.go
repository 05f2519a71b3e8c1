package histories

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// The text notation is made of words: one of a blank-separated list. A result is
// parted from the rest of its line by the word ->.
const arrow = "->"

// cutWord takes the first word off s. What is left has no blanks in front.
func cutWord(s string) (word, rest string) {
	s = strings.TrimLeftFunc(s, unicode.IsSpace)
	i := strings.IndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimLeftFunc(s[i:], unicode.IsSpace)
}

// cutResult parts a worker's line at its first arrow. No argument can be an
// arrow; a reason can hold one.
func cutResult(s string) (arguments, result string, there bool) {
	for rest := s; rest != ""; {
		var word string
		at := len(s) - len(rest)
		if word, rest = cutWord(rest); word == arrow {
			return strings.TrimSpace(s[:at]), strings.TrimSpace(rest), true
		}
	}
	return s, "", false
}

// cutLastResult parts a line of the nemesis or the store at the last arrow that a
// result follows. Its free text may hold other arrows, as in
// "partition-all n1 -> n2 -> ok".
func cutLastResult(s string) (text, result string, there bool) {
	for rest := s; rest != ""; {
		var word string
		at := len(s) - len(rest)
		if word, rest = cutWord(rest); word != arrow {
			continue
		}
		outcome, reason := cutWord(rest)
		if outcome == string(Fail) || outcome == string(Info) || outcome == string(OK) && reason == "" {
			text, result, there = strings.TrimSpace(s[:at]), strings.TrimSpace(rest), true
		}
	}
	if !there {
		return s, "", false
	}
	return text, result, true
}

// argument is a word like token=33.
type argument struct {
	key   key
	value string
}

// argumentKey finds the key of an argument. In the notation for people a ttl has
// no unit; all times are ms there.
func argumentKey(name string) (key, bool) {
	switch name {
	case "ttl":
		return keyTTL, true
	case "mode", "token", "grant", "under", "lock", "session", "value", "held", "seq", "count", "point", "target", "text":
		return lookupKey([]byte(name))
	}
	return 0, false
}

// parseArgument takes a word like token=33 apart; ok is false if it is none.
func parseArgument(word string) (argument, bool) {
	name, value, found := strings.Cut(word, "=")
	if !found {
		return argument{}, false
	}
	k, known := argumentKey(name)
	return argument{k, value}, known
}

// parseMillis reads ms with up to six decimals as an integer of nanoseconds. A
// float would lose the last digits after a hundred days.
func parseMillis(s string) (int64, error) {
	whole, fraction, dotted := strings.Cut(s, ".")
	if dotted && (fraction == "" || len(fraction) > 6) || whole == "" || len(whole) > 1 && whole[0] == '0' {
		return 0, fmt.Errorf("bad time %.40q, want ms with up to six decimals", s)
	}
	digits := whole + fraction + "000000"[len(fraction):]
	ns := int64(0)
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, fmt.Errorf("bad time %.40q, want ms with up to six decimals", s)
		}
		if ns = ns*10 + int64(digits[i]-'0'); ns > maxTime {
			return 0, fmt.Errorf("time %.40q is too large", s)
		}
	}
	return ns, nil
}

// appendMillis is the inverse of parseMillis: no decimals that say nothing.
func appendMillis(b []byte, ns int64) []byte {
	b = fmt.Appendf(b, "%d", ns/1_000_000)
	if rest := ns % 1_000_000; rest != 0 {
		b = append(b, strings.TrimRight(fmt.Sprintf(".%06d", rest), "0")...)
	}
	return b
}

// parseInteger reads an int64 in its only spelling.
func parseInteger(s string) (int64, error) {
	in := scanner{b: []byte(s)}
	v, err := in.integer()
	if err == errTorn || err == nil && in.i < len(s) {
		return 0, fmt.Errorf("%.40q is not an integer", s)
	}
	return v, err
}

// checkName judges the name of a process: letters, digits and a few signs that no
// other part of a line begins with.
func checkName(s string) error {
	for i, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && (i == 0 || !strings.ContainsRune("_.-", r)) {
			return fmt.Errorf("bad process %.40q, want letters and digits", s)
		}
	}
	if s == "" {
		return errors.New("no process")
	}
	return nil
}
