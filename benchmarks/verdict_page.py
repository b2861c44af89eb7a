"""The text of docs/verdict-simulation.md before and after its tables."""

from __future__ import annotations

INTRODUCTION = """\
# How often verdicts are right

Whole comparisons are simulated whose truth is known, and the page counts their verdicts. With
{studies} studies a share of 5 % has a standard error of {error:.2f} points. Outside {low:.0f} to
{high:.0f} % a coverage is **bold**: there the promise of 95 % is not kept. The statistics behind
are on [a page of their own](simulation.md).

```console
python benchmarks/verdict_simulation.py --studies 1000 --write
```

writes this page. Durations of real trials need `RETRIEVAL_EVAL_REAL_RUNS`. Every row has its own
seed, derived from its name.
"""

READING = """
## Conclusions

- **Leading estimates** keep their promise on 18 of 19 shapes at n = 10, 30 and 100, also where one
  cost in twenty is ten times as high. The exception is ten recalls of which 60 % do not change and
  the others change by thirds, with 97.6 %. With 60 % zeros every seventh study of ten tasks has no
  interval, since fewer than three tasks changed; the report names the reason.
- **Equal arms** are `better` or `worse` in at most 5.3 % of studies, which is 5 % within the error
  of the simulation. That holds with repositories that share an effect, with tails, with times that
  are never reached, and with a control of which a fifth used the tool.
- **Informative loss**: an arm that lacks its worst tenth, or worst two fifths, of the tasks is
  called better in at most 2.3 % of studies, and `fragile` in 7 to 48 %. Without that rule it was
  17 to 20 % in a first run of 40 studies.
- **Several arms**: where no pair was named, any pair of three or five equal arms has a verdict in
  at most 4.8 % of studies.
- **Clean effects** are called `fragile` in at most 0.1 % of studies, so the threats cost no power
  where nothing threatens. What is not found there is what a study of that size cannot show.
- **Rewards on two scales** have no verdict, and two suites with opposite effects no difference:
  the suites are the clusters then, and two of them say little about a third.
- **Plans** find 76 to 94 % in place of 80 %: more where many tasks do not change or clusters are
  few, less with single rewards.
- **Looks**: the intervals for bounded metrics and for log ratios never exceed 5 %. The latter
  assume about normal values; of exponential ones, which log ratios are not, 8.1 % are found in
  100 looks.
- **Equivalence** is claimed at the margin in at most 6.2 % of studies from n = 30 on, except for
  9 % at n = 30 where three tasks in four do not change and the others all change alike. Of ten
  exponential differences it is 7 %: a margin close to the difference of few, skewed tasks deserves
  less trust.
"""
