package main

import (
	"fmt"
	"os"
	"strings"
)

// mutant is one change, and what came of it.
type mutant struct {
	what   string
	file   string
	tests  []string // arguments of go test
	old    string
	new    string
	argued string // why no test can kill it

	outcome outcome
	said    string
	seconds float64
}

// readList reads the changes. Blocks are separated by empty lines; a block is
//
//	what the change does
//	FILE: arguments of go test
//	- line that is taken out
//	+ line that is put in
//	survives: why that makes no difference
//
// Lines that begin with # are comments. The last line is there for survivors only. The
// lines with - must stand together in the file, exactly once.
func readList(name string) ([]*mutant, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read list: %w", err)
	}
	var list []*mutant
	for block := range strings.SplitSeq(string(b), "\n\n") {
		m, err := parse(block)
		if err != nil {
			return nil, fmt.Errorf("read list: %w:\n%s", err, block)
		}
		if m != nil {
			list = append(list, m)
		}
	}
	return list, nil
}

func parse(block string) (*mutant, error) {
	m := &mutant{}
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "- "):
			m.old += line[2:] + "\n"
		case strings.HasPrefix(line, "+ "):
			m.new += line[2:] + "\n"
		case strings.HasPrefix(line, "survives: "):
			m.argued = strings.TrimPrefix(line, "survives: ")
		case m.what == "":
			m.what = line
		case m.file == "":
			file, tests, _ := strings.Cut(line, ": ")
			m.file, m.tests = file, strings.Fields(tests)
		default:
			return nil, fmt.Errorf("line %q", line)
		}
	}
	switch {
	case m.what == "":
		return nil, nil
	case m.old == "" || len(m.tests) == 0:
		return nil, fmt.Errorf("no tests or nothing to take out")
	}
	return m, nil
}
