r"""Simulate comparisons whose truth is known, and count what the package says of them.

Prints Markdown; with --write it becomes docs/verdict-simulation.md.

    RETRIEVAL_EVAL_REAL_RUNS=… RETRIEVAL_EVAL_STUDIES=… \
        python benchmarks/verdict_simulation.py --studies 1000 --write
"""

from __future__ import annotations

from pathlib import Path

from simulated_headlines import HEADLINE_KINDS, SHAPES, headline_row
from simulated_models import ENDPOINTS, PAIRS, permuted_row
from simulated_plans import LOOKS, MARGINS, PLANS, look_row, margin_row, plan_row
from simulated_verdicts import many_arms_row, verdict_row
from simulation import PROMISED, SIZES, Table, write_page
from verdict_page import INTRODUCTION, READING

TARGET = Path(__file__).resolve().parents[1] / "docs" / "verdict-simulation.md"
VERDICTS = "better or worse | fragile | no difference | no verdict"
EQUAL = [
    *((name, n, 0.0) for name in ("recall", "cost") for n in (10, 100)),
    ("cost, 5 % tenfold", 30, 0.0),
    ("time to first hit, 30 % never", 30, 0.0),
    *((f"{count} repositories of effects ±0.5", 24, 0.0) for count in (2, 5)),
    ("worst tenth not run", 40, 0.0),
    ("worst 40 % not run", 40, 0.0),
    ("crashes on the worst third", 30, 0.0),
    ("control used the tool in a fifth", 30, 0.0),
    ("rewards on two scales", 30, 0.0),
    ("two suites, opposite effects", 30, 0.0),
]
PLANTED = [
    *(("recall", n, effect) for n, effect in ((10, 0.6), (30, 0.4), (100, 0.3))),
    ("cost", 30, 0.5),
    ("time to first hit, 30 % never", 30, 1.0),
    ("8 repositories of effects ±0.2", 32, 0.5),
    ("20 repositories of effects ±0.2", 60, 0.4),
]
TABLES = [
    Table(
        "The leading estimate",
        "Lowest and highest coverage, in %, of the interval of the estimate that leads for a "
        "metric, over the shapes of a kind.",
        "shape | n | coverage | no interval",
        headline_row,
        [(name, n) for name in SHAPES for n in SIZES],
        times=2,
        kinds=HEADLINE_KINDS,
    ),
    Table(
        "Equal arms",
        "Comparisons of n tasks without a true difference, in %. `better` and `worse` are false "
        "here; at most 5 is promised.",
        f"design | n | effect | {VERDICTS}",
        verdict_row,
        EQUAL,
    ),
    Table(
        "Planted effects",
        "Clean comparisons with a true effect, in %. `fragile` is a false alarm of the threats; "
        "at most 10 is promised.",
        f"design | n | effect | {VERDICTS}",
        verdict_row,
        PLANTED,
    ),
    Table(
        "Equal arms, several of them",
        "Studies in which any pair of equal arms is `better` or `worse` though none was stated in "
        "advance, and studies in which the stated pair is, in %; at most 5 is promised.",
        "arms | n | any pair | stated pair",
        many_arms_row,
        [(3, 30), (5, 10), (5, 30)],
    ),
    Table(
        "Equal arms of a real study",
        "Fifty tasks that two models, or one model with two efforts, really solved; which of the "
        "two trials of a task belongs to which arm is drawn, and the treatment is stated to be the "
        "agent. In %; at most 5 is promised for `better` or `worse`.",
        "arms | verdict on | better or worse | fragile | no verdict",
        permuted_row,
        [(pair, metric) for pair in PAIRS for metric in ENDPOINTS],
        times=0.5,
    ),
    Table(
        "Planned studies",
        "Studies of the size that `retrieval-eval compare --pilot` gives for 80 % power where the "
        "spread is known: tasks, and the share with a clear difference, in %.",
        "plan | tasks | clear",
        plan_row,
        [(name,) for name in PLANS],
    ),
    Table(
        "Looks at running studies",
        "Looks after every task while nothing differs: studies in which any look finds p < .05, "
        "in % (at most 5 is promised), and the median width of the last interval.",
        "differences | n | ever found | width",
        look_row,
        [(name, 100) for name in LOOKS],
    ),
    Table(
        "Differences as large as the margin",
        "Studies called equivalent although their true difference is the margin, in %; at most 5 "
        "is promised.",
        "differences | n | called equivalent",
        margin_row,
        [(name, n) for name in MARGINS for n in SIZES],
    ),
]


def introduction(studies: int) -> str:
    return INTRODUCTION.format(
        studies=studies,
        error=100 * (0.95 * 0.05 / studies) ** 0.5,
        low=PROMISED[0],
        high=PROMISED[1],
    )


if __name__ == "__main__":
    write_page(__doc__, TARGET, TABLES, introduction, READING)
