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
- **Where it fails** otherwise is at n = 10. It is short, with 85 to 92 %, if the mean depends on a
  tail that ten values rarely show: very skewed differences, costs that are half as high again in
  one arm, and differences of which 60 % are zero while the others have their tail on one side. A
  difference in cost over ten tasks deserves less trust than one in recall. In three rows it is
  long by at most 0.2 points. No interval of a mean can keep its level over all distributions
  (Bahadur & Savage 1956).
- **What ten values can show** is not enough there. In a third of the studies none of them is from
  the largest tenth of the distribution. Then the coverage is 51 to 78 % in the three short rows;
  with such a value it is more than 99 %. From the values alone, a sample that misses its tail
  cannot be distinguished from one without a tail.
- **Nothing better was found for skewness.** Five candidates were tried on the three short rows:
  Johnson's (1978) t, Hall's (1992) transformation, the smoothed bootstrap-t (Polansky & Schucany
  1997), empirical likelihood (Owen 2001) and a level calibrated by a second bootstrap (Loh 1987).
  None kept its promise on all three, and Hall's was up to 2.4 times as wide.
- **Why this interval.** The bootstrap-t (Efron 1982) alone is short on heavy tails, ties and
  zeros, Student's t on skewness, and BCa on nearly everything at n = 10. The farther end of the
  first two costs a tenth of the width where Student's t would be enough. Taking it is our choice,
  and this page is the reason for it.
- **Ties.** Hall (1988) showed that the bootstrap-t is second-order accurate if a part of the
  distribution is continuous, which a few coarse values are not. So the bootstrap-t is weighted by
  the share of pairs that differ among the values other than the most frequent one. This share is 1
  without ties, and also if only the zeros tie. Of 22 rows of coarse differences 19 are within 93
  to 97 %; without that weight 15 were. The other three are of rewards that are won and never lost,
  where Student's t alone is as long.
- **No interval** is given if fewer than three differences are nonzero. Requiring more helps the
  row that is short, but moves others out of 93 to 97 %, since the remaining studies are those with
  many nonzero differences by chance. With six, most studies with many zeros have no interval.
- **Clusters must be stated.** If tasks share a repository and this is ignored, interval and
  p-value are far off. The interval by cluster is slightly short for six clusters of skewed
  differences that share nearly everything, and slightly long for six that share nothing.
- **Few clusters**: with the means of two to five clusters, equal arms get a verdict in at most
  5.3 % of studies, which is 5 % within the error of the simulation. If their tasks are treated as
  independent, it is up to 39 %.
- **Equal arms** get a verdict in at most 4.6 % of studies. The test alone alarms in at most 5.1 %.
  The verdict requires the interval too, because the test assumes that the arms are the same except
  for their names, not only that their means are equal.
- **The smallest detectable difference** is found by the verdict in 77 to 81 % of studies if
  differences are roughly normal. With six pairs the verdict requires all signs to be equal, which
  uniform differences reach more easily (91 %).
- **Spearman's interval** takes the farther end of two for the same reason. The percentile
  bootstrap is short on few tied points. Bonett & Wright's interval (2000) is short if the spread
  of one side changes with the other, and if rows share a task. The result is long if the
  correlation is nearly perfect, and slightly short at n = 10 if the spread changes.
"""
