"""Events: the calls of a trace as ordered retrieval events, matched to the ground truth."""
