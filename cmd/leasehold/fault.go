package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/leasehold-checker/leasehold/histories"
)

// fault ends a command where the checker itself is at fault ([checker.ErrFault]). The
// history is the bug report: what came from standard input is saved in dir, so that it
// is not lost.
func fault(h *histories.History, file, dir string, cause error) (int, error) {
	if file != "-" {
		return exitInternal, fmt.Errorf("%s: %w; please report it, with this file", file, cause)
	}
	saved, err := saveHistory(h, dir)
	if err != nil {
		return exitInternal, errors.Join(cause, err)
	}
	return exitInternal, fmt.Errorf("standard input: %w; please report it, with %s", cause, saved)
}

func saveHistory(h *histories.History, dir string) (name string, err error) {
	f, err := os.CreateTemp(dir, "leasehold-fault-*.jsonl")
	if err != nil {
		return "", fmt.Errorf("save history: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := histories.EncodeJSONL(f, h); err != nil {
		return "", fmt.Errorf("save history: %w", err)
	}
	return f.Name(), nil
}
