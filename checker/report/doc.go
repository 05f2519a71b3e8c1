// Package report says what came of a campaign or of one history: as plain data
// ([Summary], written as summary.json), as text for a terminal, and as one HTML
// page over all cells.
//
// Every text that comes from outside is cleaned before it is printed, see
// [Clean]. The reports only tell: what is expected, and which exit code that
// gives, is decided by whoever fills the Summary.
package report
