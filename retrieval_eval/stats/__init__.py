"""Statistics that know no domain: plain numbers in, numbers with their reasons out.

`paired` and `power`, `correlation`, `multiplicity`, `intervals`, `time_to_event` (with the curve in
`censored`) and `calibration`. Order of the input matters to resampled numbers (the seed picks
positions), so sort by a stable key before calling. How often the intervals hold the truth, and
where they do not, is simulated in ``docs/simulation.md``.
"""
