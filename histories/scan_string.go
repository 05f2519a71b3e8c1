package histories

import (
	"errors"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// rawString scans a string. The bytes are good until the next line is read.
func (s *scanner) rawString() ([]byte, error) {
	if s.i == len(s.b) {
		return nil, errTorn
	}
	if s.b[s.i] != '"' {
		return nil, fmt.Errorf("unexpected %s, want a string", quoteByte(s.b[s.i]))
	}
	s.i++
	start, i, ascii := s.i, s.i, true
	for ; i < len(s.b); i++ {
		c := s.b[i]
		if c >= utf8.RuneSelf {
			ascii = false
		}
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b := s.b[start:i]
		switch s.i = i; {
		case c == '\\':
			return s.escapedString(start)
		case c < ' ':
			return nil, fmt.Errorf("control character %s in a string", quoteByte(c))
		case !ascii && !utf8.Valid(b):
			return nil, errors.New("invalid UTF-8")
		}
		s.i++
		return b, nil
	}
	s.i = i
	return nil, errTorn
}

// escapedString goes on at the first backslash of a string.
func (s *scanner) escapedString(start int) ([]byte, error) {
	out := append([]byte(nil), s.b[start:s.i]...)
	for s.i < len(s.b) {
		c := s.b[s.i]
		s.i++
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				return nil, errors.New("invalid UTF-8")
			}
			return out, nil
		case c == '\\':
			r, err := s.escape()
			if err != nil {
				return nil, err
			}
			out = utf8.AppendRune(out, r)
		case c < ' ':
			return nil, fmt.Errorf("control character %s in a string", quoteByte(c))
		default:
			out = append(out, c)
		}
	}
	return nil, errTorn
}

func (s *scanner) escape() (rune, error) {
	if s.i == len(s.b) {
		return 0, errTorn
	}
	c := s.b[s.i]
	s.i++
	switch c {
	case '"', '\\', '/':
		return rune(c), nil
	case 'b':
		return '\b', nil
	case 'f':
		return '\f', nil
	case 'n':
		return '\n', nil
	case 'r':
		return '\r', nil
	case 't':
		return '\t', nil
	case 'u':
		return s.unicode()
	}
	return 0, fmt.Errorf("unknown escape \\%c", c)
}

// unicode decodes \uXXXX, and a pair of them above the basic plane. Half a pair
// is an error: no UTF-8 can say it, so it would be changed silently.
func (s *scanner) unicode() (rune, error) {
	r, err := s.hex4()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if len(s.b)-s.i < 2 {
		return 0, errTorn
	}
	if s.b[s.i] == '\\' && s.b[s.i+1] == 'u' {
		s.i += 2
		low, err := s.hex4()
		if err != nil {
			return 0, err
		}
		if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
			return r, nil
		}
	}
	return 0, errors.New("half a surrogate pair")
}

func (s *scanner) hex4() (rune, error) {
	var r rune
	for range 4 {
		if s.i == len(s.b) {
			return 0, errTorn
		}
		c := s.b[s.i]
		s.i++
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, errors.New("bad \\u escape")
		}
	}
	return r, nil
}
