package main

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

// colored tells whether to colour what is written there: only on a terminal, and
// not where the user has asked for none (no-color.org).
func colored(w io.Writer) bool {
	return terminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
