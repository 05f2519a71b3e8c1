// Package timeline draws one history as one HTML page: the verdict in words, the
// witness in numbered sentences, and a picture to scale with the same numbers.
//
// [Build] turns a history and its judgement into a [View], plain data that tests
// compare by value; [Write] renders it. The page needs no network, opens from a
// disk, and runs one script, named by its hash in the page's content security
// policy. Names, values and error texts come from lock stores and are shown as
// text only.
//
// For every worker the picture has two bars: what the worker believes (from the
// answer to its acquire until it releases, or is told that the lease is lost)
// and what the store granted. The part of a belief that is certainly untrue is
// hatched; where the history can't tell, the page doesn't accuse.
package timeline
