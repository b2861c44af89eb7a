"""Events: a trace's calls as ordered retrieval events, matched to the ground truth."""
