"""Simulate pairs of search runs whose truth is known, and count what the guard makes of them.

Prints Markdown; with --write it becomes docs/guard-simulation.md.

    python benchmarks/guard_simulation.py --write
"""

from __future__ import annotations

from pathlib import Path

from guard_repeats import ALONE, WITH_FILE, drop_means_row, equal_means_row
from guard_studies import LIMITS, N_RESAMPLES, REPEATS, drop_row, equal_row
from simulation import Table, write_page

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
- *one bad run in ten*: that share is 5 % with a chance of one in ten for each run, else x %;
- *as good, other answers*: two systems that order the documents of x % of the queries each in its
  own way, equally well over all queries there could be, but not on these;
- *other queries*: each run asks a sample of its own. The guard refuses such runs by their
  fingerprints; the row shows why.

**A drop** of P@5 by so many points, in expectation, is planted in the second run: *one of five*
relevant documents is lost in as many queries as that takes, or *all of five* in fewer.

**The guard** has the change thresholds of the shipped `guard.toml`, in points:
{limits}.
Floors and ceilings are left out: they bound the level of a run, not a change. The sign-flip test
takes {resamples} resamples here, 10,000 in the guard. A change beyond its threshold is a breach

- *threshold*: always;
- *significance*: if the one-sided paired sign-flip test over the queries calls it real at 5 %,
  adjusted over all thresholds (Holm). If not, and the run could not have shown a change that
  matters either, there is no verdict;
- *noise*: the same with the run-to-run noise that `search noise` measures from {repeats} repeats of
  the system, or from 5 or 20, in place of the test. Without noise that is the threshold alone.

**The shipped rule**, `threshold_and_real`, is *noise* where a noise file holds for the run, and
*significance* where none does. **Several runs** on either side are compared by their
means, and measure their noise themselves, without a noise file or beside one.
"""

READING = """
## What to take from it

- **With measured noise the shipped rule keeps its promise** between runs of one system: with 10
  repeats it alarms in at most 3.4 % of A/A pairs, whether noise is even, uneven or a bad run now
  and then, and with even noise it catches a drop of two points on 600 queries in 96.8 % and more,
  however the drop is spread.
- **Without a noise file**, by significance, it keeps it for systems that are deterministic or
  have even noise: alarms in at most 1.2 %, a drop spread over many queries caught in 99.8 % and
  more. But a drop in few queries amid 2 % of noise is caught in 90.0 %, and uneven noise or a bad
  run in ten makes it alarm in 8 to 30 %: the test takes queries for independent, and a run that
  is bad as a whole looks like a real drop, which on that day it is. Only repeats can tell.
- **The threshold alone does not keep it.** With noise it alarms in 9 to 62 % of A/A pairs. Where
  noise is even that is less P@5 than refusals: one of 60 unanswerable queries is 1.67 points,
  more than the 1.5 allowed, and one answerable query refused is more than the 0 allowed. Without
  any noise, on pinned queries, no rule ever alarms, and then the threshold alone, which is what
  measured noise comes to, misses least.
- **What one run against one cannot hold** (†): two points amid uneven noise of 1 %. Whoever knew
  that noise exactly would find 72.4 %, and in 5.5 % the drop that is seen is not even beyond the
  threshold. Measured noise finds 42.0 % and gives no verdict in another 50.5 %: it says that it
  cannot tell, and how many runs could. By significance 91.5 % are found, at the price of alarms in
  23 % of A/A pairs. Of a single bad run and a single drop the numbers are the same.
- **Several runs on either side keep both promises**, without any noise file, whatever the noise
  here: with 20 runs at most 1.5 % of A/A comparisons alarm, and a drop of two points is caught in
  98.4 % and more. With 10 the alarms are at most 1.6 %, and the drop is caught in 95.9 % and more
  but for three rows: 94.8 and 89.1 % where one run in ten is bad, and 90.3 % in few queries amid
  uneven noise of 2 %. Five runs and a noise file do for noise of 0.5 %, and for uneven noise of 1 %
  when the drop is spread (95.9 %). Two or three runs alone know their own noise too roughly: they
  hardly ever alarm, and mostly say that they cannot tell.
- **What measuring costs.** Noise is known as well as its repeats are many. Two points amid uneven
  noise of 0.5 % are found in 85.7 % with 10 repeats and in 91.4 % with 20, where whoever knew it
  exactly would find 97.7 %; with three runs on either side besides they are in 98.4 % and more.
  Two points on 150 queries are found in 70.5 % and 84.7 %. Five repeats are too few: two points
  amid even noise of 2 % are found in 94.2 % or, in few queries, in 86.3 %. Twenty alarm in 5.1 %
  of pairs where one run in ten is bad, which is 5 % within the error of the simulation.
- **No verdict is part of the price**, and does not pass either. By measured noise it is 1.5 % of
  A/A pairs on 600 queries with even noise of 1 %, 10.7 % with 2 %, and up to 37 % with uneven
  noise: 60 unanswerable queries are too few, or the runs too unlike, to tell. By significance it
  is at most 4.0 % there, but up to two of three where many queries are answered otherwise. The
  remedies are several runs on either side (with 10 at most 1.0 % are left without), more
  unanswerable queries, and a system whose answers move less.
- **Small drops.** One point is caught in 84 to 91 %, half a point, which is the threshold itself,
  in a fifth to a third.
- **Other questions have other answers.** To measured noise whatever a deterministic system does
  otherwise is real, and on the pinned queries it is: between systems that are as good it alarms
  as often as the threshold, and finds two points amid other answers in 99.6 % and more.
  Significance asks whether the change is more than which queries happened to move: it alarms
  there in at most 3.6 %, and misses two points where 20 % of the queries are answered otherwise
  (85.8 %). `threshold_and_significant` is the rule for whom the pinned queries are a sample of
  more.
"""

ALARMS = (
    "systems | noise | queries | threshold | significance | noise, 10 | noise, 5 | noise, 20 | "
    "no verdict: significance | noise | P@5: threshold | P@5: significance | P@5: noise"
)
CAUGHT = (
    "points | lost | systems | noise | queries | known | threshold | significance | noise, 10 | "
    "noise, 5 | noise, 20 | no verdict: significance | noise"
)

MEANS = " | ".join([*(f"{n} runs" for n in ALONE), *(f"{n} and file" for n in WITH_FILE)])

TABLES = [
    Table(
        "The promise: two runs of one system (A/A)",
        "In % of studies: any alarm (a breach of one of the five thresholds) under each rule; no "
        "alarm but no verdict either, under significance and under noise of 10 repeats; and an "
        "alarm of the row of P@5 alone.",
        ALARMS,
        equal_row,
        [("deterministic", 0.0, 600)]
        + [("run-to-run noise", share, 600) for share in (0.001, 0.005, 0.01, 0.02)]
        + [("run-to-run noise", 0.01, n) for n in (150, 2000)]
        + [("uneven run-to-run noise", share, 600) for share in (0.005, 0.01, 0.02)]
        + [("uneven run-to-run noise", 0.01, 150), ("one bad run in ten", 0.002, 600)],
    ),
    Table(
        "The promise: two points of P@5 on 600 pinned queries",
        "Caught by the row of P@5, in %: by whoever *knows* exactly how much P@5 moves without a "
        "drop, and alarms in 5 % of pairs; under each rule; and left without verdict under "
        "significance and under noise of 10 repeats. *Threshold* is also the share of studies in "
        "which the drop that is seen is beyond the threshold at all. † marks what no rule can hold "
        "that looks at the change of P@5 between two runs: one of these two shares is below 95 %.",
        CAUGHT,
        drop_row,
        [
            (2.0, "one of five", "deterministic", 0.0, 600),
            *((2.0, "one of five", "run-to-run noise", s, 600) for s in (0.005, 0.01, 0.02)),
            *((2.0, "one of five", "uneven run-to-run noise", s, 600) for s in (0.005, 0.01)),
            (2.0, "all of five", "deterministic", 0.0, 600),
            *((2.0, "all of five", "run-to-run noise", s, 600) for s in (0.005, 0.01, 0.02)),
        ],
    ),
    Table(
        "The promise kept by repeating: means of several runs on either side (A/A)",
        "In % of studies: any alarm / no alarm but no verdict either, by the number of runs on "
        "either side; without a noise file, and with one of 10 repeats.",
        f"systems | noise | queries | {MEANS}",
        equal_means_row,
        [("deterministic", 0.0, 600)]
        + [("run-to-run noise", share, 600) for share in (0.01, 0.02)]
        + [("uneven run-to-run noise", share, 600) for share in (0.005, 0.01, 0.02)]
        + [("uneven run-to-run noise", 0.01, 150), ("one bad run in ten", 0.002, 600)],
    ),
    Table(
        "The promise kept by repeating: two points of P@5 on 600 pinned queries",
        "Caught by the row of P@5 / left without verdict, in %, by the number of runs on either "
        "side; without a noise file, and with one of 10 repeats. The same queries lose documents "
        "in every run.",
        f"points | lost | systems | noise | queries | {MEANS}",
        drop_means_row,
        [
            (2.0, how, system, share, 600)
            for how in ("one of five", "all of five")
            for system, share in (
                ("deterministic", 0.0),
                ("run-to-run noise", 0.02),
                ("uneven run-to-run noise", 0.005),
                ("uneven run-to-run noise", 0.01),
                ("uneven run-to-run noise", 0.02),
                ("one bad run in ten", 0.002),
            )
        ],
    ),
    Table(
        "Other questions: other systems that are as good, and other queries",
        "As in the first table. These systems are deterministic, so that by measured noise any "
        "change beyond a threshold is real, and on these queries it is.",
        ALARMS,
        equal_row,
        [("as good, other answers", share, 600) for share in (0.05, 0.1, 0.2)]
        + [("as good, other answers", 0.1, 150)]
        + [("other queries", 0.0, n) for n in (150, 600)],
    ),
    Table(
        "Other questions: fewer queries, other drops, a drop amid other answers",
        "As in the second table.",
        CAUGHT,
        drop_row,
        [
            *((2.0, "one of five", "deterministic", 0.0, n) for n in (150, 300)),
            *((2.0, "one of five", "run-to-run noise", 0.01, n) for n in (150, 300)),
            *((2.0, "one of five", "as good, other answers", s, 600) for s in (0.05, 0.1, 0.2)),
            *((points, "one of five", "run-to-run noise", 0.01, 600) for points in (0.5, 1.0, 3.0)),
        ],
    ),
]


def introduction(studies: int) -> str:
    return INTRODUCTION.format(
        studies=studies,
        error=100 * (0.05 * 0.95 / studies) ** 0.5,
        limits=", ".join(f"{name} {limit:g}" for name, limit in LIMITS.items()),
        resamples=N_RESAMPLES,
        repeats=REPEATS,
    )


if __name__ == "__main__":
    write_page(__doc__, TARGET, TABLES, introduction, READING)
