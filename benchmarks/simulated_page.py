"""The text of docs/simulation.md before and after its tables."""

from __future__ import annotations

INTRODUCTION = """\
# How often the statistics are right

Studies are simulated whose truth is known. The page counts how often the statistics of
`retrieval_eval.stats` contain it. With {studies} studies a share of 95 % has a standard error of
{error:.2f} points, with twice as many {error_of_twice:.2f}. Intervals are 95 % intervals from
{resamples} resamples; a report uses 10,000. Coverage is the share of studies whose interval
contains the truth. Outside {low:.0f} to {high:.0f} % it is **bold**: there the promise of 95 % is
not kept.

```console
python benchmarks/simulation.py --write
```

writes this page. Every row has its own seed, derived from its name.
"""

READING = """
## Conclusions

An interval is *short* if its coverage is too low, and *long* if it is too high.

- **The interval of a mean difference** keeps its promise for recall, nDCG and rewards at n = 10,
  30 and 100, for costs from n = 30 on, and for all other shapes at n = 30 and 100, except for one
  row at 97.1 %.
- **Where it fails** is at n = 10. It is short, with 85 to 92 %, if the mean depends on a tail: very
  skewed differences, costs half as high again in one arm, and 60 % zeros beside a tail on one side.
  In a third of such studies no value is from the largest tenth of the distribution, and the ten
  values do not show it: there the coverage was 51 to 78 %, with such a value more than 99 %. No
  interval of a mean keeps its level over all distributions (Bahadur & Savage 1956).
- **Nothing better was found for skewness**: Johnson's (1978) t, Hall's (1992) transformation, the
  smoothed bootstrap-t (Polansky & Schucany 1997), empirical likelihood (Owen 2001) and a level
  calibrated by a second bootstrap (Loh 1987) each failed on one of the three short rows.
- **Why this interval.** The bootstrap-t (Efron 1982) alone is short on heavy tails, ties and
  zeros, Student's t on skewness, and BCa on nearly everything at n = 10. The farther end of the
  first two costs a tenth of the width where Student's t would be enough.
- **Ties.** The bootstrap-t is second-order accurate if a part of the distribution is continuous
  (Hall 1988). So it is weighted by the share of pairs that differ among the values other than the
  most frequent one. Of 22 rows of coarse differences 19 are within 93 to 97 %; without that weight
  15 were. The other three are rewards that are won and never lost.
- **No interval** is given if fewer than three differences are nonzero. Requiring six would leave
  most studies with many zeros without one, and select the others by chance (83 to 98 %).
- **Clusters must be stated.** By cluster the interval is slightly short for six clusters of skewed
  differences that share nearly everything, and slightly long for six that share nothing. With two
  to five clusters equal arms get a verdict in at most 5.3 %, and in up to 39 % if their tasks are
  treated as independent.
- **Repositories of uneven size** are compared by the mean of their effects (Paule & Mandel 1982,
  Hartung & Knapp 2001) together with the sign-flip test. The interval of the mean over tasks, with
  the degrees of freedom of so uneven clusters, finds a difference of 0.1 in 28, 6 and 2 % of the
  first designs, not in 70, 39 and 16 %.
- **Missing tasks** are taken as the worst of all tasks where at most a fifth is missing: the lowest
  of a normal distribution, not beyond what the metric allows. Equal arms then keep a gain in at
  most 5.7 % although one lost its worst tasks, without it in up to 99 %.
- **Equal arms** get a verdict in at most 4.6 % of studies. It requires the interval beside the
  test, because the test assumes equal distributions and not only equal means.
- **The smallest detectable difference** is found by the verdict in 77 to 81 % of studies if
  differences are roughly normal.
- **Spearman's interval** takes the farther end of two as well: the percentile bootstrap is short on
  few tied points, Bonett & Wright's (2000) if the spread of one side changes with the other or if
  rows share a task.
"""
