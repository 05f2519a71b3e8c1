package histories

import (
	"errors"
	"fmt"
	"os"
)

// Merge joins the files that Recorders wrote, each the events of one process,
// into one history. A torn last line is dropped, which History.Warnings says; an
// operation without an answer becomes info. The result is valid (see
// [Validate]); its operations keep no line numbers.
func Merge(header Header, files []string) (*History, error) {
	h := &History{Header: withDefaults(header)}
	owner := map[string]string{} // process -> file
	for _, file := range files {
		ops, warnings, err := readEvents(file)
		if err != nil {
			return nil, err
		}
		if err := claim(owner, file, ops); err != nil {
			return nil, err
		}
		h.Ops = append(h.Ops, ops...)
		h.Warnings = append(h.Warnings, warnings...)
	}
	sortOps(h.Ops)
	if err := validate(h, func(o *Operation) string { return owner[o.Process] }); err != nil {
		return nil, err
	}
	for i := range h.Ops {
		h.Ops[i].Line = 0
	}
	return h, nil
}

func readEvents(file string) ([]Operation, []string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, fmt.Errorf("open events: %w", err)
	}
	defer f.Close()
	d := decoder{blocks: newBlockReader(f, file)}
	return d.events()
}

// claim gives the process of the operations to the file.
func claim(owner map[string]string, file string, ops []Operation) error {
	if len(ops) == 0 {
		return nil
	}
	process := ops[0].Process
	for i := range ops {
		if ops[i].Process != process {
			return atLine(file, ops[i].Line, fmt.Errorf("process %s in the file of process %s", ops[i].Process, process))
		}
	}
	if other, taken := owner[process]; taken {
		return atLine(file, ops[0].Line, errors.New("process "+process+" has a file already: "+other))
	}
	owner[process] = file
	return nil
}
