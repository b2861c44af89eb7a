"""Simulate pairs of search runs whose truth is known, and count how the guard decides on them.

Prints Markdown; with --write it becomes docs/guard-simulation.md.

    python benchmarks/guard_simulation.py --write
"""

from __future__ import annotations

from pathlib import Path

from guard_repeats import ALONE, WITH_FILE, drop_means_row, equal_means_row
from guard_slices import slices_row
from guard_studies import LIMITS, N_RESAMPLES, REPEATS, drop_row, equal_row, refusal_row
from guard_two_runs import two_runs_row
from simulation import Table, write_page

from retrieval_eval.search.decide.noise import LATENCY_RUNS

TARGET = Path(__file__).resolve().parents[1] / "docs" / "guard-simulation.md"

INTRODUCTION = """\
# How often the guard is right

Pairs of search runs are simulated whose truth is known, and the guard decides on each pair with
its own functions (`retrieval_eval.search.decide`). With {studies} studies a share of 5
or 95 % has a standard error of {error:.2f} points. **Bold** marks a broken promise: alarms on more
than 5 % of pairs of equally good systems, or a planted drop that is caught in less than 95 % of
studies.

```console
python benchmarks/guard_simulation.py --write
```

writes this page. Every row has its own seed, derived from its name.

## What is simulated

**Queries** are drawn for each study. An answerable query ranks 40 documents, of which 9 are
relevant on average. Of the first five documents 71 % are relevant, with a standard deviation of 25
points between queries; 89 % of the relevant ones are among the first 20. A draft makes one to five
claims, of which 85 % are supported. There is one unanswerable query for ten answerable ones; 83 %
of the unanswerable and 7 % of the answerable ones are refused.

**Equally good systems** differ in one of these ways:

- *run-to-run noise* of x %: in every run x % of the first 20 documents, at most one per query, are
  swapped with one of the first 40, and x % of claims and refusals are decided again at random;
- *uneven run-to-run noise*: that share is drawn for each run (exponential, mean x %, at most 5 %).
  A run is then bad or good as a whole, as after an index was rebuilt;
- *one bad run in ten*: with a chance of one in ten that share is 5 % for a run, else x %;
- *as good, other answers*: two systems that order the documents of x % of the queries differently;
- *other queries*: each run has its own sample of queries. The guard refuses such runs; the row
  shows why.

**A drop** of P@5 by so many points is planted in the second run. *One of five* relevant documents
is lost in as many queries as needed, or *all of five* in fewer queries.

**The guard** has the change thresholds of the shipped `guard.toml`, in points: {limits}. A change
beyond its threshold is a breach

- *threshold*: always;
- *significance*: if the one-sided paired sign-flip test over the queries ({resamples} resamples)
  is significant at 5 %, adjusted over all thresholds (Holm). If it is not, and a change that
  matters could not have been detected either, there is no verdict;
- *noise*: the same, with the run-to-run noise that `search noise` measures from {repeats} repeats
  of the system, or from 5 or 20, instead of the test.

**The shipped rule**, `threshold_and_real`, is *noise* if a noise file applies to the run, and
*significance* if none does. **Several runs** on either side are compared by their means, and
measure their noise themselves.
"""

READING = """
## Conclusions

- **With measured noise the shipped rule keeps its promise**: it alarms on at most 4.5 % of pairs of
  runs of one system. With even noise it catches two points on 600 queries in at least 96.7 %.
- **Without a noise file** it keeps it for deterministic systems and even noise (1.4 %). A drop
  in few queries amid 2 % of noise is caught in only 90.5 %, and uneven noise or one bad run in ten
  causes alarms on 9 to 34 %: a run that is bad as a whole looks like a real drop.
- **The threshold alone does not keep it**: with noise it alarms on 27 to 63 %, mostly because of
  refusals (one of 60 unanswerable queries is 1.67 points). Without noise it never does.
- **One run against one cannot tell** (†) a single bad run from a single drop. Measured noise finds
  41.9 and 36.5 %, mostly gives no verdict otherwise, and reports how many runs would be enough.
- **Several runs on either side keep both promises** without a noise file: with 20 runs at most
  1.2 % alarm, and two points are caught in at least 98.0 %. With 10 runs it is 1.4 and 96.0 %
  except in three rows.
- **What measuring costs.** Two points amid uneven noise of 0.5 % are found in 85.4 % with 10
  repeats, in 91.8 % with 20, with exact knowledge in 98.4 %. Five repeats are too few.
- **No verdict** is no pass: 1.9 % of A/A pairs with even noise of 1 %, 11.2 % with 2 %, up to 39 %
  with uneven noise.
- **Refusals rest on few queries**: of 600 queries 60 are unanswerable here. Amid noise of 1 % five
  points are caught in 56 %, ten in 92 %, and with 200 unanswerable queries by every rule.
- **The rows of measured noise** together alarm on at most 4.6 % of pairs. Times are bounded from 30
  repeats, because a bad run that none of fewer was would be an alarm: however times are
  distributed, a new run is the slowest of 31 in 3.2 %, and of 11 in 9.1 %. Where answers vary, half
  of the first ten documents may change before their row breaches, so that it catches little; of a
  deterministic system, and of times that vary by a tenth, they catch everything. A system that is
  three times as slow at times looks like one that always is.
- **The worst slice** finds drops that all queries hide, unless they are no larger than the noise of
  whole runs.
- **Small drops.** One point is caught in 86 to 89 %, half a point in a fifth to a third.
- **Other questions.** Significance tests whether the change is more than an accident of which
  queries moved: between equally good systems it alarms on at most 3.4 %. Choose
  `threshold_and_significant` if the pinned queries are a sample of more queries.
"""

ALARMS = (
    "systems | noise | queries | threshold | significance | noise, 10 | noise, 5 | noise, 20 | "
    "no verdict: significance | noise"
)
CAUGHT = (
    "points | lost | systems | noise | queries | known | threshold | significance | noise, 10 | "
    "noise, 5 | noise, 20 | no verdict: significance | noise"
)

SHAPES = [
    ("run-to-run noise", 0.01),
    ("uneven run-to-run noise", 0.01),
    ("one bad run in ten", 0.002),
]
"""The three shapes of noise."""

MEANS = " | ".join([*(f"{n} runs" for n in ALONE), *(f"{n} and file" for n in WITH_FILE)])

TABLES = [
    Table(
        "The promise: two runs of one system (A/A)",
        "In % of studies: any alarm (a breach of one of the five thresholds) under each rule; "
        "neither alarm nor verdict, under significance and under noise of 10 repeats.",
        ALARMS,
        equal_row,
        [("deterministic", 0.0, 600)]
        + [("run-to-run noise", share, 600) for share in (0.01, 0.02)]
        + [("run-to-run noise", 0.01, 150)]
        + [("uneven run-to-run noise", share, 600) for share in (0.01, 0.02)]
        + [("one bad run in ten", 0.002, 600)],
    ),
    Table(
        "The promise: two points of P@5 on 600 pinned queries",
        "Caught by the row of P@5, in %. *Known*: a rule that knows exactly how much P@5 varies "
        "without a drop, and alarms on 5 % of pairs. Then each rule, and the share without a "
        "verdict under significance and under noise of 10 repeats. † marks what no rule can "
        "achieve that uses the change of P@5 between two runs.",
        CAUGHT,
        drop_row,
        [
            (2.0, "one of five", "run-to-run noise", 0.02, 600),
            *((2.0, "one of five", "uneven run-to-run noise", s, 600) for s in (0.005, 0.01)),
            (2.0, "one of five", "one bad run in ten", 0.002, 600),
            (2.0, "all of five", "run-to-run noise", 0.02, 600),
        ],
    ),
    Table(
        "The promise: refusals that move",
        "As above, caught by the row of the refusals that move: unanswerable queries that are "
        "answered now (of one in ten queries), or answerable ones that are refused.",
        CAUGHT.replace("points | lost", "points | now"),
        refusal_row,
        [
            (5.0, "unanswerable queries answered", "deterministic", 0.0, 600),
            (5.0, "unanswerable queries answered", "run-to-run noise", 0.01, 600),
            *((10.0, "unanswerable queries answered", *SHAPES[0], n) for n in (600, 2000)),
            (2.0, "answerable queries refused", *SHAPES[0], 600),
        ],
    ),
    Table(
        "The promise for the worst slice",
        "Each query belongs to one of three slices at random. The shipped rule with a noise file "
        "of 10 repeats, from which the noise of the slices follows. Alarms, or a drop in one slice "
        "that makes so many points over all queries, in %: any row, P@5 of all queries, and its "
        "worst slice.",
        "points | systems | noise | queries | any row | all queries | worst slice",
        slices_row,
        [(points, *shape, 600) for points in (0.0, 1.0, 2.0) for shape in SHAPES],
    ),
    Table(
        "The promise for the rows of measured noise (A/A)",
        "What `guard --init` adds where noise was measured, by the number of repeats: the first "
        "result (P@1), first ten documents that change though no metric of the query does, and "
        "from 30 repeats the time of a query, each of two runs of one system, and any of them. "
        "Times have medians with a spread of 5 % (deterministic), 10 % and 30 % (uneven); the bad "
        "run of ten takes three times as long, too. Then what is caught: the ninth and the tenth "
        "document change their places in every query; queries take three times as long.",
        "systems | noise | queries | repeats | first result | first ten | time | any | "
        "caught: first ten | time",
        two_runs_row,
        [
            (*system, n_repeats)
            for system in [
                ("deterministic", 0.0, 600),
                ("run-to-run noise", 0.01, 150),
                ("run-to-run noise", 0.02, 600),
                ("uneven run-to-run noise", 0.01, 600),
                *(("one bad run in ten", 0.002, n) for n in (150, 600)),
            ]
            for n_repeats in (REPEATS, LATENCY_RUNS)
        ],
        times=0.5,
    ),
    Table(
        "The promise kept by repeating: means of several runs on either side (A/A)",
        "In % of studies: any alarm/neither alarm nor verdict, by the number of runs on either "
        "side; without a noise file, and with one of 10 repeats.",
        f"systems | noise | queries | {MEANS}",
        equal_means_row,
        [
            ("run-to-run noise", 0.02, 600),
            *(("uneven run-to-run noise", share, 600) for share in (0.01, 0.02)),
            ("one bad run in ten", 0.002, 600),
        ],
        times=0.25,
    ),
    Table(
        "The promise kept by repeating: two points of P@5 on 600 pinned queries",
        "Caught by the row of P@5/without a verdict, in %. The same queries lose documents in "
        "every run.",
        f"points | lost | systems | noise | queries | {MEANS}",
        drop_means_row,
        [
            *(
                (2.0, "one of five", "uneven run-to-run noise", share, 600)
                for share in (0.005, 0.01, 0.02)
            ),
            (2.0, "one of five", "one bad run in ten", 0.002, 600),
            (2.0, "all of five", "uneven run-to-run noise", 0.02, 600),
            (2.0, "all of five", "one bad run in ten", 0.002, 600),
        ],
        times=0.25,
    ),
    Table(
        "Other questions: other systems that are as good, and other queries",
        "As in the first table. These systems are deterministic.",
        ALARMS,
        equal_row,
        [("as good, other answers", 0.2, 600), ("other queries", 0.0, 600)],
    ),
    Table(
        "Other questions: fewer queries, other drops, a drop amid other answers",
        "As in the second table.",
        CAUGHT,
        drop_row,
        [
            (2.0, "one of five", "run-to-run noise", 0.01, 150),
            (2.0, "one of five", "as good, other answers", 0.2, 600),
            *((points, "one of five", "run-to-run noise", 0.01, 600) for points in (0.5, 1.0)),
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
