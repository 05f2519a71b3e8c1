package nemesis

// Die closes the ledger as the death of its tool does: nothing is struck out.
func (l *Ledger) Die() { l.file.Close() }
