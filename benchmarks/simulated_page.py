"""What docs/simulation.md says before its tables and after them."""

from __future__ import annotations

INTRODUCTION = """\
# How often the statistics are right

Studies are simulated whose truth is known, the statistics of `retrieval_eval.stats` are computed
on each, and it is counted how often they hold it. With {studies} studies a share of 95 % has a
standard error of {error:.2f} points, with twice as many {error_of_twice:.2f}.
Intervals are 95 % intervals from {resamples} resamples; a report takes 10,000.
Coverage outside {low:.0f} to {high:.0f} % is **bold**: there the promise of 95 % is not kept.

This page is written by

```console
python benchmarks/simulation.py --write
```

Every row has its own seed, made of its name, so the numbers do not depend on the order of the rows
or on the number of processes.
"""

READING = """
## What to take from it

- **The interval of a mean difference** covers in 93 to 97 % of studies of recall, of nDCG and of
  rewards at n = 10, 30 and 100, and of costs from n = 30 on. Of the single shapes it does so for
  normal, heavy-tailed, moderately skewed and tied differences at every n, and at n = 30 and 100 for
  the others too, but for one row at 97.1 %. The mean over the shapes of a kind lies between 93.8
  and 96.3 % throughout, which says little of any one of them.
- **Where it fails** otherwise is at n = 10. It is *too short*, covering in 85 to 92 %, where the
  mean hangs on a tail that ten values rarely show: lognormal differences with σ = 1, costs of
  which one arm's are half as high again, and above all 60 % zeros whose few others lie mostly on
  one side of 0 and in the tail on the other. So the interval of a difference in cost over ten
  tasks deserves less trust than that of one in recall. It is *too long* by 0.1 or 0.2 points, less
  than the error of the simulation, in three rows.
- **What ten values can tell** is not enough there. In a third of the studies none of the ten is of
  the largest tenth; then the interval covers in 51 to 78 % of studies of the three short rows, and
  with one such value in more than 99 %. Who knew the shape would reach up to 6.0 standard errors
  above the mean, where Student's t needs 2.3 for normal differences; from the values alone nobody
  can tell a sample that misses its tail from one that has none.
- **Nothing better was found for skewness.** Johnson's t and the smoothed bootstrap-t change the
  rows that are short by less than half a point, or for the worse. Hall's transformation covers up
  to three points more, for 1.7 times the width on very skewed differences and 2.4 times on the
  worst row, and two of the three rows stay short. Empirical likelihood is shorter still with
  Student's quantile, and too long on normal differences when adjusted; with the quantile of
  resamples it covers five points more on the worst row, stays short on all three, and becomes short
  for single rewards. A calibrated level helps none of the three, and is short there too.
- **Why this interval.** The bootstrap-t alone is short on heavy tails, ties and zeros, Student's t
  on skewness, BCa on nearly everything at n = 10. The farther end of the first two costs a tenth
  of the width where Student's would do, and covers best among values without ties. Both are
  textbook intervals (Student 1908; the bootstrap-t of Efron 1982, which Hall 1988 showed to be
  second-order accurate); to take the farther end is our choice, and this page is its reason.
- **Ties.** What Hall showed supposes a distribution with a continuous part, which few coarse values
  do not have: there the bootstrap-t errs to either side, and the farther end to the long one. So it
  counts by the share of pairs that differ among the values other than the commonest, which is 1
  without ties, and also when only the zeros tie. That is our choice too. Of 22 rows of further
  coarse differences 19 are within 93 to 97 %, and 15 without that weight. The other three are of
  rewards won, and never lost, in 20 or 40 % of the tasks, where Student's t alone is as long.
- **No interval** is given when fewer than three differences are other than 0; the coverage is that
  of the studies that have one. To ask for four, five or six helps the row that is short at n = 10,
  and carries others out of 93 to 97 % instead, since the studies that are left are those whose
  differences happened to be many. With six of six differences, coarse ones cover in 85 to 88 %. And
  six would leave most studies of ten differences with many zeros without an interval. So it stays
  three.
- **Clusters have to be said.** Leaving out that tasks share a repository makes interval and p-value
  wrong by far. The interval by cluster allows for uneven sizes. It is still a little short for six
  clusters of skewed differences that share nearly everything (92.2 %), and a little long for six of
  normal ones that share nothing (97.3 %).
- **Few clusters**: by the means of two, three or five clusters equal arms have a verdict in at most
  5.3 % of 2000 studies, which is 5 % within the error of the simulation; as if their tasks were
  independent in up to 58 %.
- **Equal arms** raise a verdict in at most 4.6 % of studies. The test alone is exact: it alarms in
  at most 5.1 % of 10,000 studies, with clusters in at most 5.4 % of 4000, which is 5 % within the
  error of the simulation. The verdict asks for the interval too, because the test supposes arms
  that are alike but for their names, and not only means that are equal.
- **The smallest detectable difference** is what the verdict finds in about 80 % of studies when
  differences are roughly normal: in 77 to 83 %, and 85.5 % of uniform ones at n = 10. With six
  pairs only equal signs of all count, which uniform differences reach more easily (91 %).
- **Spearman's interval** takes the farther end of two for the same reason: the percentile bootstrap
  is short on few tied points, Bonett & Wright's (2000) where the spread of one side changes with
  the other and where rows share a task. It is long where the correlation is nearly perfect, and at
  n = 10 a little short where the spread changes.
- **The restricted mean** of few censored times has an interval that is a little long.
"""
