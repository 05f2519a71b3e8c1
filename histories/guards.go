package histories

// Guard says that a lock guards a resource.
type Guard struct {
	Lock     string `json:"lock"`
	Resource string `json:"resource"`
}

// Guards knows which lock guards which resource of a history.
type Guards struct {
	by        map[string]string // from the header
	only      string            // guards everything: the one lock of a header without guards
	unguarded bool
}

// NewGuards reads the header's guards. Where it names none, it looks for the only
// lock of the history, which guards every resource then.
func NewGuards(h *History) *Guards {
	g := &Guards{by: make(map[string]string, len(h.Header.Guards))}
	for _, guard := range h.Header.Guards {
		if g.by[guard.Resource] == "" {
			g.by[guard.Resource] = guard.Lock
		}
	}
	if len(h.Header.Guards) > 0 {
		return g
	}
	for i := range h.Ops {
		lock := h.Ops[i].Lock
		if lock == "" || !h.Ops[i].ByWorker() || lock == g.only {
			continue
		}
		if g.only != "" {
			g.only = ""
			return g
		}
		g.only = lock
	}
	g.unguarded = g.only == ""
	return g
}

// Of names the lock that guards the resource, "" if none is known.
func (g *Guards) Of(resource string) string {
	if g.only != "" {
		return g.only
	}
	return g.by[resource]
}

// Unguarded tells whether the history knows no lock at all: it is one of registers
// that everybody may write to.
func (g *Guards) Unguarded() bool { return g.unguarded }

// GuardOf names the lock that guards the resource, "" if none is known. Who asks
// for many resources asks [NewGuards] once.
func (h *History) GuardOf(resource string) string { return NewGuards(h).Of(resource) }
