"""The text of docs/verdict-simulation.md before and after its tables."""

from __future__ import annotations

INTRODUCTION = """\
# How often verdicts are right

Whole comparisons are simulated whose truth is known, and the page counts their verdicts. With
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

- **Leading estimates** have a coverage of 93 to 97 % on every shape at n = 10, 30 and 100, but
  for one row: ten recalls of which 60 % do not change and the others change by thirds, with 97.6
  %. Of the shapes with 60 % of zeros every seventh study of ten tasks has no interval, since
  fewer than three tasks changed; the report names the reason. Ratios hold also where one
  value in twenty is ten times as high, and on durations drawn from those of real trials.
- **Equal arms** are `better` or `worse` in at most 5.3 % of studies in every row, which is 5 %
  within the error of the simulation: with 2 to 20 repositories that share an effect, with tails,
  with times that are never reached, and with a control of which a fifth used the tool.
- **Informative loss**: an arm that lacks its worst tenth, or worst two fifths, of the tasks is
  called better in at most 2.3 % of studies, and `fragile` in 7 to 48 %. Without that rule it was
  17 to 20 % in a first run of 40 studies.
- **Several arms**: where no pair was named, any pair of three equal arms has a verdict in 4.8 %
  of studies, and any of five in at most 3.8 %.
- **Clean effects** are called `fragile` in at most 0.1 % of studies, so the threats cost no
  power where nothing threatens. What is not found there is what a study of that size cannot
  show.
- **Rewards on two scales** have no verdict, and two suites with opposite effects no difference:
  the suites are the clusters then, and two of them say little about a third.
- **Plans** keep what they state within three points, and have more power where many tasks do not
  change or clusters are few.
- **Looks**: the intervals for bounded metrics and for log ratios never exceed 5 %. The latter
  assume about normal values; of exponential ones, which log ratios are not, 8.1 % are found in
  100 looks.
- **Equivalence** is claimed at the margin in at most 6.2 % of studies from n = 30 on, except for 9
  % at n = 30 where three tasks in four do not change and the others all change alike. Of ten
  exponential differences it is 7 %: a margin close to the difference of few, skewed tasks
  deserves less trust.
"""
