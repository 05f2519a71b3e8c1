package exact

// role says what a zone is in the question of lost updates.
type role uint8

const (
	absent role = iota // nothing: it did not happen, or lies in the zone of another operation
	alone              // an open, or a read of no value
	bare               // such a read, if a write is based on it and it may lie inside any cluster
	soft               // the cluster of a write that was never answered
	firm               // the cluster of an acknowledged write, or of the initial value
)

// cast gives every zone its role.
func (l *lost) cast() {
	l.role = make([]role, l.n+1)
	l.role[l.n] = firm
	for i := range l.ops {
		o := &l.ops[i]
		switch {
		case !l.happened[i] || l.zone[i] != int32(i):
		case o.Write && o.Acked:
			l.role[i] = firm
		case o.Write:
			l.role[i] = soft
		case l.role[i] == absent:
			l.role[i] = alone
		}
		if l.happened[i] && o.Base >= 0 && l.origin.of[o.Base] == fromNowhere {
			l.role[o.Base] = bare
		}
	}
	l.house()
	for v, r := range l.role {
		switch r {
		case firm:
			l.firm = append(l.firm, int32(v))
		case soft:
			l.soft = append(l.soft, int32(v))
		case bare:
			l.bare = append(l.bare, int32(v))
		}
	}
}

// house finds the bare bases that certainly lie inside a cluster: one that must come
// after an operation of the cluster and before another one. They are as good as reads
// of its value.
func (l *lost) house() {
	l.home = map[int32]int32{}
	for v, r := range l.role {
		if r == bare {
			l.home[int32(v)] = int32(v)
		}
	}
	if len(l.home) == 0 {
		return
	}
	comp, _ := l.zones().components()
	cluster := make([]int32, len(comp)) // by component: its cluster + 1
	for v, r := range l.role {
		if r >= soft {
			cluster[comp[v]] = int32(v) + 1
		}
	}
	for b := range l.home {
		if c := cluster[comp[b]]; c > 0 {
			l.home[b], l.role[b] = c-1, alone
		}
	}
}

// ground is the cluster of a base, or a bare base itself.
func (l *lost) ground(base int32) int32 {
	if home, found := l.home[base]; found {
		return home
	}
	return l.zone[base]
}
