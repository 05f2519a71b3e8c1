package model

// Decision is an engine's answer to a question about a resource, with its proof.
// Neither proof is believed: [Resource.Confirm] checks both.
type Decision struct {
	Answer Answer
	// Order, if the answer is Legal: operations (indices into [Resource.Operations]) in
	// an order that keeps the rules. All acknowledged operations are in it;
	// unanswered ones that are not in it count as not happened.
	Order []int32
	// Core, if the answer is Illegal: operations (indices, ascending) that no order
	// explains by themselves. Every read in it brings the writes that it may have seen
	// (see [Explainers]), and no write has another base than in the whole.
	Core []int32
	// Why, if the answer is Undecided: what stood in the way, as a clause ("two writes
	// of one value that was read").
	Why string
}
