package histories

// idTable maps the ids of one process to places. Recorders count from 0, so most
// ids are the next one of a list; a map would cost as much as reading the line.
type idTable struct {
	dense  []int
	sparse map[int64]int
}

func (t *idTable) get(id int64) (place int, known bool) {
	if 0 <= id && id < int64(len(t.dense)) {
		return t.dense[id], true
	}
	place, known = t.sparse[id]
	return place, known
}

// put adds an id that is not known yet.
func (t *idTable) put(id int64, place int) {
	if id == int64(len(t.dense)) {
		t.dense = append(t.dense, place)
		return
	}
	if t.sparse == nil {
		t.sparse = map[int64]int{}
	}
	t.sparse[id] = place
}
