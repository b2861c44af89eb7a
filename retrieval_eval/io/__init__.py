"""Reading and writing: the layout of run trees, JSON and JSONL, and whole-or-nothing writes."""
