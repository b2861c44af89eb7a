"""Simulate pairs of search runs whose truth is known, and count what the guard makes of them.

Prints Markdown; with --write it becomes docs/guard-simulation.md.

    python benchmarks/guard_simulation.py --write
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from guard_studies import LIMITS, N_RESAMPLES, REPEATS, drop_row, equal_row
from simulation import Table

TARGET = Path(__file__).resolve().parents[1] / "docs" / "guard-simulation.md"

INTRODUCTION = """\
# How often the guard is right

Pairs of search runs are simulated whose truth is known, and the guard decides on each with its own
functions (`retrieval_eval.search.guard.rule`). With {studies} studies a share of 5 or 95 % has a
standard error of {error:.2f} points. **Bold** is what does not hold: alarms in more than 5 % of
pairs of equally good systems, a planted drop caught in less than 95 %.

This page is written by

```console
python benchmarks/guard_simulation.py --write
```

Every row has its own seed, made of its name, so the numbers do not depend on the order of the rows
or on the number of processes.

## What is simulated

**Queries** are drawn anew for each study. An answerable query ranks 40 documents, of which 9 are
relevant on average; 71 % of the first five are (P@5 has a standard deviation of 25 points between
queries and comes in fifths), and 89 % of the relevant ones are among the first 20. A draft makes
one to five claims, 85 % of them supported. For ten answerable queries there is an unanswerable
one; 83 % of those are refused, and 7 % of the answerable ones. The two runs of a study answer the
same queries, and most of them alike.

**Equally good systems** differ in one of these ways:

- *deterministic*: not at all;
- *run-to-run noise* of x %: in every run x % of the first 20 documents, at most one a query, trade
  places with one of the first 40, and x % of claims and refusals are judged by new luck;
- *uneven run-to-run noise*: that share is drawn for each run (exponential, mean x %, at most 5 %),
  so that a run is bad or good as a whole, as when an index was rebuilt or a judge has a bad day;
- *as good, other answers*: two systems that order the documents of x % of the queries each in its
  own way, equally well over all queries there could be, but not on these;
- *other queries*: each run asks a sample of its own. The guard refuses such runs by their
  fingerprints; the row shows why.

**A drop** of P@5 by so many points, in expectation, is planted in the second run: *one of five*
relevant documents is lost in as many queries as that takes, or *all of five* in fewer.

**The guard** has the change thresholds of the shipped `guard.toml`, in points:
{limits}.
Floors and ceilings are left out: they bound the level of a run, not a change. The sign-flip test
takes {resamples} resamples here, 10,000 in the guard. Three rules are compared:

- *threshold*: a change beyond its threshold is a breach;
- *and significant*, the shipped rule: it is one if the one-sided paired sign-flip test, adjusted
  over all thresholds (Holm), calls it real at 5 %, too. If not, and the run could not have shown a
  change that matters either, there is no verdict;
- *and beyond noise*: the same with the run-to-run noise of the system in place of the test, as
  `search noise` measures it from {repeats} repeats. Without noise that is the threshold alone.
"""

READING = """
## What to take from it

- **The shipped rule keeps both promises** for systems that are deterministic or have even
  run-to-run noise: an alarm in at most 2 % of A/A pairs, and a drop of two points on 600 queries,
  spread over as many queries as possible, caught in more than 99 %. It also alarms in less than 5 %
  for systems that are as good with other answers, and for other samples of queries.
- **The threshold alone does not.** With noise it alarms in 29 to 56 % of A/A pairs on 600 queries.
  That is not P@5 but refusals: one of 60 unanswerable queries is 1.67 points, more than the 1.5
  allowed, and one answerable query refused is more than the 0 allowed. P@5 alone stays below 5 %
  on 600 queries with even noise, but not on 150, and not between systems that are as good on
  average. Without any noise, on a pinned slice, no rule ever alarms, and the threshold alone
  misses least.
- **What significance costs.** More small drops go through: one point is caught in 88 %, half a
  point in a third. Two points on 150 queries are caught in three of four. On 600 queries two
  points are missed too often where few queries lose everything amid much noise (caught in 89.5 %),
  and where 20 % of the queries are answered otherwise as well (85.8 %).
- **No verdict is part of the price**, and does not pass either. Under run-to-run noise on 600
  queries it is rare, at most 4.5 %, so that up to 6 % of A/A pairs do not pass. It is frequent, up
  to two of three, where many queries are answered otherwise: 60 unanswerable queries are too few to
  tell. The remedy is more of them.
- **Where every rule fails**: uneven noise. The test takes queries for independent, so a run that is
  bad as a whole looks like a real drop, which on that day it is: 11 to 23 % alarms. Only repeats
  can tell (`search noise`), and five of them tell roughly: 7 to 9 % alarms, and a drop of two
  points caught in six of ten.
- **Beyond noise** asks another question: is this more than mere repetition would do? Between runs
  of one system it alarms in at most 3.6 %, and it catches more than the test does: 91 instead of 75
  % of two points on 150 queries, 97.5 instead of 89.5 % where few queries lose everything. So it is
  the better rule where the pinned queries are all that matters. It is the wrong one where they are
  a sample of more: to it whatever another system does is real, and between systems that are as good
  it alarms as often as the threshold.
"""

EQUAL = Table(
    "Two equally good systems",
    "In % of studies: any alarm (a breach of one of the five thresholds) under each rule; no "
    "alarm but no verdict either, under the last two; and an alarm of the row of P@5.",
    "systems | noise | queries | threshold | and significant | and beyond noise | "
    "no verdict, significant | no verdict, noise | P@5: threshold | P@5: significant | P@5: noise",
    equal_row,
    [("deterministic", 0.0, 600)]
    + [("run-to-run noise", share, 600) for share in (0.005, 0.01, 0.02)]
    + [("run-to-run noise", 0.01, n) for n in (150, 2000)]
    + [("uneven run-to-run noise", share, 600) for share in (0.005, 0.01)]
    + [("as good, other answers", share, 600) for share in (0.05, 0.1, 0.2)]
    + [("as good, other answers", 0.1, 150)]
    + [("other queries", 0.0, n) for n in (150, 600)],
)

DROPS = Table(
    "A planted drop of P@5",
    "Caught by the row of P@5 under each rule, and left without verdict under the second, in %.",
    "points | lost | systems | noise | queries | threshold | and significant | and beyond noise | "
    "no verdict, significant",
    drop_row,
    [
        *((2.0, "one of five", "deterministic", 0.0, n) for n in (150, 300, 600)),
        *((2.0, "one of five", "run-to-run noise", share, 600) for share in (0.005, 0.01, 0.02)),
        *((2.0, "one of five", "run-to-run noise", 0.01, n) for n in (150, 300)),
        (2.0, "one of five", "uneven run-to-run noise", 0.01, 600),
        *((2.0, "one of five", "as good, other answers", s, 600) for s in (0.05, 0.1, 0.2)),
        *((2.0, "all of five", "run-to-run noise", share, 600) for share in (0.005, 0.01, 0.02)),
        (2.0, "all of five", "deterministic", 0.0, 600),
        *((points, "one of five", "run-to-run noise", 0.01, 600) for points in (0.5, 1.0, 3.0)),
    ],
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--write", action="store_true", help=f"write {TARGET.name}")
    options = parser.parse_args()
    started = time.monotonic()
    tables = (EQUAL, DROPS)
    with ProcessPoolExecutor(options.processes) as pool:
        pending = [table.start(pool, options.studies) for table in tables]
        rows = [[future.result() for future in futures] for futures in pending]
    parts = [
        INTRODUCTION.format(
            studies=options.studies,
            error=100 * (0.05 * 0.95 / options.studies) ** 0.5,
            limits=", ".join(f"{name} {limit:g}" for name, limit in LIMITS.items()),
            resamples=N_RESAMPLES,
            repeats=REPEATS,
        ).rstrip()
    ]
    for table, found in zip(tables, rows, strict=True):
        parts += table.markdown(found, options.studies)
    text = "\n".join([*parts, READING.rstrip(), ""])
    print(text)
    print(f"<!-- {time.monotonic() - started:.0f} s -->")
    if options.write:
        TARGET.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
