package histories

import (
	"strconv"
	"unicode/utf8"
)

// noIndex leaves the index out, in the file of one process.
const noIndex = int64(-1)

// appendInvoke appends the line of an invocation, with its end.
func appendInvoke(b []byte, index int64, o *Operation) []byte {
	b = appendHead(b, index, o.Invoke, o, Invoke)
	return appendAttributes(b, o, askedKeys(o), o.TTLAsked)
}

// appendAnswer appends the line of an answer, with its end.
func appendAnswer(b []byte, index int64, o *Operation) []byte {
	b = appendHead(b, index, o.Return, o, o.Type)
	return appendAttributes(b, o, answeredKeys(o), o.TTL)
}

func appendHead(b []byte, index, time int64, o *Operation, t Type) []byte {
	b = append(b, '{')
	if index != noIndex {
		b = append(b, `"index":`...)
		b = append(strconv.AppendInt(b, index, 10), ',')
	}
	b = append(b, `"time_ns":`...)
	b = strconv.AppendInt(b, time, 10)
	b = append(b, `,"process":`...)
	b = appendString(b, o.Process)
	b = append(b, `,"op":`...)
	b = strconv.AppendInt(b, o.ID, 10)
	b = append(b, `,"type":"`...)
	b = append(b, t...)
	b = append(b, `","f":`...)
	return appendString(b, string(o.F))
}

func appendAttributes(b []byte, o *Operation, keys keySet, ttl int64) []byte {
	for k := keyLock; k < numKeys; k++ {
		if !keys.has(k) {
			continue
		}
		b = append(b, ',', '"')
		b = append(b, keyNames[k]...)
		b = append(b, '"', ':')
		switch k {
		case keyTTL:
			b = strconv.AppendInt(b, ttl, 10)
		case keyToken:
			b = strconv.AppendInt(b, o.Token.Or(0), 10)
		case keySeq:
			b = strconv.AppendInt(b, o.Seq.Or(0), 10)
		case keyCount:
			b = strconv.AppendInt(b, o.HoldsLeft.Or(0), 10)
		case keyHeld:
			b = strconv.AppendBool(b, o.Held.Or(false))
		default:
			b = appendString(b, attribute(o, k))
		}
	}
	return append(b, '}', '\n')
}

// attribute is a string attribute of an operation.
func attribute(o *Operation, k key) string {
	switch k {
	case keyGrant:
		return o.Grant
	case keyValue:
		return o.Value.Or("")
	}
	return *textOf(o, k)
}

// appendString appends a JSON string. Invalid UTF-8 becomes U+FFFD; validated
// histories have none.
func appendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				b = append(append(b, s[start:i]...), "\uFFFD"...)
				start = i + 1
			}
			i += n
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
			i++
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}
