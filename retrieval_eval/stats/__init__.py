"""Statistics that know no domain: plain numbers in, numbers with their reasons out.

`paired`, `power`, `correlation`, `multiplicity`, `intervals` and `censored`. Order of the input
matters to resampled numbers (the seed picks positions), so sort by a stable key before calling.
"""
