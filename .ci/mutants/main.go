// Command mutants breaks the checkers on purpose, one small change at a time, and runs
// their tests: a change that no test notices is one that no test protects from.
//
//	go run ./.ci/mutants [-only WORD] [-list FILE] [-jobs N] [-limit DURATION] [-dry]
//
// The changes stand in list.txt (its head says how). Each is made to a copy of the tree
// in a temporary directory, never to the checkout. Its exit code is 0 if 95 % of the
// mutants were killed, and every other one is argued in the list.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

const least = 95 // per cent of the mutants to be killed

func main() {
	list := flag.String("list", ".ci/mutants/list.txt", "the changes")
	only := flag.String("only", "", "those whose file or description contains this word")
	jobs := flag.Int("jobs", 2, "mutants under test at a time")
	dry := flag.Bool("dry", false, "make and build the mutants, and run no test")
	limit := flag.Duration("limit", 3*time.Minute, "for the tests of one mutant; longer is as good as failing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *list, *only, *jobs, *limit, *dry); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, list, only string, jobs int, limit time.Duration, dry bool) error {
	all, err := readList(list)
	if err != nil {
		return err
	}
	var chosen []*mutant
	for _, m := range all {
		if strings.Contains(m.file, only) || strings.Contains(m.what, only) {
			chosen = append(chosen, m)
		}
	}
	work := make(chan *mutant)
	var workers sync.WaitGroup
	var mu sync.Mutex // of the output
	for range jobs {
		tree, err := copyTree()
		if err != nil {
			return err
		}
		defer os.RemoveAll(tree)
		workers.Go(func() {
			for m := range work {
				m.test(ctx, tree, limit, dry)
				mu.Lock()
				fmt.Println(m)
				mu.Unlock()
			}
		})
	}
	for _, m := range chosen {
		if ctx.Err() == nil {
			work <- m
		}
	}
	close(work)
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	return summary(chosen)
}

// summary counts, and is an error if there are too many survivors or one is not argued.
func summary(list []*mutant) error {
	count := map[outcome]int{}
	wrong := 0
	for _, m := range list {
		count[m.outcome]++
		if m.outcome == broken || m.outcome == survived && m.argued == "" || m.outcome == killed && m.argued != "" {
			wrong++
		}
	}
	fmt.Printf("%d mutants: %d killed, %d survived, %d broken\n", len(list), count[killed], count[survived], count[broken])
	switch {
	case wrong > 0:
		return fmt.Errorf("%d mutants are not as the list says", wrong)
	case 100*count[killed] < least*len(list):
		return fmt.Errorf("fewer than %d %% were killed", least)
	}
	return nil
}
