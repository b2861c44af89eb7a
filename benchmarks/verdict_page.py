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

writes this page. Durations of real trials need `RETRIEVAL_EVAL_REAL_RUNS`, equal arms of a real
study `RETRIEVAL_EVAL_STUDIES`. Every row has its own seed, derived from its name.
"""

READING = """
## Conclusions

- **Leading estimates** keep their promise on 18 of 19 shapes at n = 10, 30 and 100. The exception
  is ten recalls of which 60 % do not change and the others change by thirds (97.6 %). With 60 %
  zeros every seventh study of ten tasks has no interval, since fewer than three tasks changed.
- **Equal arms** are `better` or `worse` in at most 5.3 % of studies, also with repositories that
  share an effect, tails, times that are never reached, and a control that used the tool.
- **Equal arms of a real study**: the one row above 5 %, the cost of two models, has 4.7 % in 2,000
  studies (the first 500 of which are in the table): its excess is chance. Others of two models that
  were run so often have at most 2.1 %.
- **Informative loss**: an arm that lacks its worst tenth, or worst two fifths, is called better in
  at most 2.3 % of studies, and `fragile` in 7 to 48 %; without that rule it was 17 to 20 %.
- **Several arms**: where no pair was named, any pair has a verdict in at most 4.8 % of studies.
- **Clean effects** are called `fragile` in at most 0.1 % of studies.
- **Rewards on two scales** have no verdict, and two suites with opposite effects no difference.
- **Plans** find 76 to 94 % in place of 80 %: more where many tasks do not change or clusters are
  few, less with single rewards.
- **Looks**: bounded metrics and log ratios never exceed 5 %; exponential values, which log ratios
  are not, reach 8.1 % in 100 looks.
- **Equivalence** is claimed at the margin in at most 6.2 % of studies from n = 30 on, except for
  9 % where three tasks in four do not change. A margin close to the difference of few, skewed tasks
  deserves less trust.
"""
