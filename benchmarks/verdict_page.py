"""The text of docs/verdict-simulation.md before and after its tables."""

from __future__ import annotations

INTRODUCTION = """\
# How often verdicts are right

Whole comparisons are simulated whose truth is known, and the page counts what is said of them. With
{studies} studies a share of 5 % has a standard error of {error:.2f} points. Outside {low:.0f} to
{high:.0f} % a coverage is **bold**: there the promise of 95 % is not kept. The statistics behind
are on [a page of their own](simulation.md).

This page is written by

```console
python benchmarks/verdict_simulation.py --studies 1000 --write
```

Rows of real durations need `RETRIEVAL_EVAL_REAL_RUNS`. Every row has its own seed, derived from its
name, so the numbers depend neither on the order of the rows nor on the number of processes.
"""

READING = """
## Conclusions
"""
