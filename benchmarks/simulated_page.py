"""The text of docs/simulation.md before and after its tables."""

from __future__ import annotations

INTRODUCTION = """\
# How often the statistics are right

Studies are simulated whose truth is known. The statistics of `retrieval_eval.stats` are computed
on each, and the page counts how often they contain it. With {studies} studies a share of 95 % has
a standard error of {error:.2f} points, with twice as many {error_of_twice:.2f}. Intervals are
95 % intervals from {resamples} resamples; a report uses 10,000. Coverage is the share of studies
whose interval contains the truth. Outside {low:.0f} to {high:.0f} % it is **bold**: there the
promise of 95 % is not kept.

This page is written by

```console
python benchmarks/simulation.py --write
```

Every row has its own seed, derived from its name, so the numbers do not depend on the order of the
rows or on the number of processes.
"""

READING = """
## Conclusions

An interval is called *short* if its coverage is too low, and *long* if it is too high.

- **The interval of a mean difference** has a coverage of 93 to 97 % for recall, nDCG and rewards
  at n = 10, 30 and 100, and for costs from n = 30 on. Of the single shapes it does so for normal,
  heavy-tailed, moderately skewed and tied differences at every n. For the others it does so at n
  = 30 and 100, except for one row at 97.1 %. The mean over the shapes of a kind lies between 93.8
  and 96.3 % throughout, which says little about any one of them.
- **Where it fails** otherwise is at n = 10. It is *short*, with 85 to 92 %, if the mean depends
  on a tail that ten values rarely show. Examples are lognormal differences with σ = 1, costs that
  are half as high again in one arm, and above all differences of which 60 % are zero while the
  few others lie mostly on one side of 0 and have their tail on the other. So the interval of a
  difference in cost over ten tasks deserves less trust than that of one in recall. In three rows
  it is *long* by 0.1 or 0.2 points, less than the error of the simulation.
- **What ten values can show** is not enough there. In a third of the studies none of the ten is
  from the largest tenth of the distribution. Then the coverage is 51 to 78 % in the three short
  rows; with one such value it is more than 99 %. If the shape were known, the interval would have
  to reach up to 6.0 standard errors above the mean, where Student's t needs 2.3 for normal
  differences. From the values alone, a sample that misses its tail cannot be distinguished from
  one without a tail.
- **Nothing better was found for skewness.** Johnson's t and the smoothed bootstrap-t change the
  short rows by less than half a point, or make them worse. Hall's transformation adds up to three
  points of coverage, but is 1.7 times as wide on very skewed differences and 2.4 times on the
  worst row, and two of the three rows stay short. Empirical likelihood is even shorter with
  Student's quantile, and long on normal differences when adjusted. With the quantile of resamples
  it adds five points on the worst row, stays short on all three, and becomes short for single
  rewards. A calibrated level helps none of the three, and is short there too.
- **Why this interval.** The bootstrap-t alone is short on heavy tails, ties and zeros, Student's
  t on skewness, and BCa on nearly everything at n = 10. Taking the farther end of the first two
  costs a tenth of the width where Student's t would be enough, and has the best coverage among
  values without ties. Both are textbook intervals (Student 1908; the bootstrap-t of Efron 1982,
  which Hall 1988 showed to be second-order accurate). Taking the farther end is our choice, and
  this page is the reason for it.
- **Ties.** Hall's result assumes a distribution with a continuous part, which a few coarse values
  do not have. With them the bootstrap-t errs in both directions, and the farther end is long. So
  the bootstrap-t is weighted by the share of pairs that differ among the values other than the
  most frequent one. This share is 1 without ties, and also if only the zeros tie. That is our
  choice too. Of 22 rows of further coarse differences, 19 are within 93 to 97 %, and 15 without
  that weight. The other three are of rewards that are won, and never lost, in 20 or 40 % of the
  tasks, where Student's t alone is as long.
- **No interval** is given if fewer than three differences are nonzero; the coverage is that of
  the studies that have one. Requiring four, five or six helps the row that is short at n = 10,
  but moves others out of 93 to 97 %, since the remaining studies are those with many nonzero
  differences by chance. With six of six differences, coarse ones have a coverage of 85 to 88 %.
  And with six, most studies of ten differences with many zeros would have no interval. So the
  limit is three.
- **Clusters must be stated.** If tasks share a repository and this is ignored, interval and
  p-value are far off. The interval by cluster allows for clusters of different sizes. It is still
  slightly short for six clusters of skewed differences that share nearly everything (92.2 %), and
  slightly long for six clusters of normal ones that share nothing (97.3 %).
- **Few clusters**: with the means of two, three or five clusters, equal arms get a verdict in at
  most 5.3 % of 2000 studies, which is 5 % within the error of the simulation. If their tasks are
  treated as independent, it is up to 58 %.
- **Equal arms** get a verdict in at most 4.6 % of studies. The test alone is exact: it alarms in
  at most 5.1 % of 10,000 studies, with clusters in at most 5.4 % of 4000, which is 5 % within the
  error of the simulation. The verdict requires the interval too, because the test assumes that
  the arms are the same except for their names, not only that their means are equal.
- **The smallest detectable difference** is found by the verdict in about 80 % of studies if
  differences are roughly normal: in 77 to 83 %, and in 85.5 % of uniform ones at n = 10. With six
  pairs the verdict requires all signs to be equal, which uniform differences reach more easily
  (91 %).
- **Spearman's interval** takes the farther end of two for the same reason. The percentile
  bootstrap is short on few tied points. Bonett & Wright's interval (2000) is short if the spread
  of one side changes with the other, and if rows share a task. The result is long if the
  correlation is nearly perfect, and slightly short at n = 10 if the spread changes.
"""
