"""Simulate studies whose truth is known, and count how often the statistics contain it.

Prints Markdown; with --write it becomes docs/simulation.md.

    python benchmarks/simulation.py --write
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from simulated_doubts import ARMS as LOST
from simulated_doubts import missing_row, uneven_row
from simulated_draws import (
    ARMS,
    ASSOCIATIONS,
    COARSE,
    COARSE_KINDS,
    DIFFERENCES,
    KINDS,
    MEASUREMENTS,
    SPREADS,
)
from simulated_means import (
    CLUSTERED,
    FEW_CLUSTERS,
    cluster_row,
    few_clusters_row,
    mean_row,
    null_row,
    power_row,
)
from simulated_page import INTRODUCTION, READING
from simulated_studies import (
    N_RESAMPLES,
    PROMISED,
    Row,
    association_row,
    family_row,
)

SIZES = (10, 30, 100)
ALONE = (
    "recall of 1 to 6 files",
    "reward 0 or 1, once",
    "cost, lognormal, ratio 1",
    "cost, lognormal, ratio 1.5",
    "heavy tails (t, 3 df)",
    "very skewed: lognormal(σ = 1) − 1",
    "tied: quarters, 35 % zeros",
    "60 % zeros, else exponential − 0.5",
)
MEAN_COLUMNS = "differences | n | coverage | no interval | width | Student's t | BCa | bootstrap-t"
TARGET = Path(__file__).resolve().parents[1] / "docs" / "simulation.md"

Call = tuple[Any, ...]


class Table:
    """A heading, what it shows, and its rows, which are computed elsewhere.

    ``times`` multiplies the studies of every row. With ``kinds``, beginnings of the rows' names,
    the table has the lowest and the highest coverage of each kind. Of the rows themselves only
    those that ``alone`` names are shown: a heading, its text, and names and n of the rows.
    """

    def __init__(
        self,
        title: str,
        text: str,
        columns: str,
        row: Callable[..., Row],
        calls: list[Call],
        *,
        times: float = 1,
        kinds: dict[str, tuple[str, ...]] | None = None,
        alone: tuple[str, str, tuple[str, ...], int] | None = None,
    ) -> None:
        self.title, self.text, self.columns = title, text, columns.split(" | ")
        self.row, self.calls, self.times = row, calls, times
        self.kinds, self.alone = kinds, alone

    def start(
        self, pool: ProcessPoolExecutor, studies: int, cache: Path | None = None
    ) -> list[Future[Row]]:
        return [
            pool.submit(cached_row, self.row, (*call, self._studies(studies)), cache)
            for call in self.calls
        ]

    def markdown(self, rows: list[Row], studies: int) -> Iterator[str]:
        text = f"{self.text} {self._studies(studies)} studies per row."
        if self.kinds is None:
            yield from _section(self.title, text, self.columns, rows)
            return
        sizes = list(dict.fromkeys(row[1] for row in rows))
        columns = ["differences", "shapes", *(f"n = {n}" for n in sizes)]
        yield from _section(self.title, text, columns, _by_kind(rows, self.kinds, sizes))
        if self.alone is not None:
            title, text, names, n = self.alone
            shown = [row for row in rows if row[0] in names and row[1] == str(n)]
            yield from _section(title, text, self.columns, shown)

    def _studies(self, studies: int) -> int:
        return max(1, round(studies * self.times))


def _by_kind(rows: list[Row], kinds: dict[str, tuple[str, ...]], sizes: list[str]) -> list[Row]:
    found = []
    for kind, beginnings in kinds.items():
        of = [row for row in rows if row[0].startswith(beginnings) and row[2] != "–"]
        shapes = len({row[0] for row in of})
        if of:
            ranges = (_range([row[2] for row in of if row[1] == n]) for n in sizes)
            found.append([kind, str(shapes), *ranges])
    return found


def _range(coverages: list[str]) -> str:
    """Return the lowest and the highest coverage, bold where one of them breaks the promise."""
    values = sorted(float(each.strip("*")) for each in coverages)
    shown = "–".join(dict.fromkeys(f"{value:.1f}" for value in (values[0], values[-1])))
    return f"**{shown}**" if any(map(_is_bold, coverages)) else shown


def cached_row(row: Callable[..., Row], arguments: Call, folder: Path | None) -> Row:
    """Return a row of a table, from a folder where it was computed by the same code before."""
    if folder is None:
        return row(*arguments)
    name = sha256(repr((row.__name__, arguments, code_digest())).encode()).hexdigest()[:24]
    path = folder / f"{name}.json"
    if path.is_file():
        found: Row = json.loads(path.read_text(encoding="utf-8"))
        return found
    found = row(*arguments)
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(found), encoding="utf-8")
    part.replace(path)
    return found


@cache
def code_digest() -> str:
    """Return a digest of the code that rows depend on."""
    package = Path(__file__).resolve().parents[1] / "retrieval_eval"
    files = [
        *sorted(Path(__file__).resolve().parent.glob("*_s*.py")),
        *sorted(Path(__file__).resolve().parent.glob("guard_*.py")),
        *sorted((package / "stats").glob("*.py")),
        package / "search" / "decide" / "noise_level.py",
        package / "search" / "decide" / "guard" / "rule.py",
        package / "search" / "decide" / "guard" / "guard.toml",
    ]
    found = sha256()
    for path in files:
        # The page's own text decides no row.
        if path.name != "guard_simulation.py":
            found.update(path.read_bytes())
    return found.hexdigest()


def _section(title: str, text: str, columns: list[str], rows: list[Row]) -> Iterator[str]:
    is_text = [not (cell.strip("*–-").replace(".", "") or "0").isdigit() for cell in rows[0]]
    yield from ("", f"## {title}", "", text, "")
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "|".join("---" if text else "---:" for text in is_text) + "|"
    yield from ("| " + " | ".join(row) + " |" for row in rows)


def _is_bold(cell: str) -> bool:
    return cell.startswith("**")


TABLES = [
    Table(
        "Interval of the mean difference",
        "Lowest and highest coverage in % over the shapes of a kind. The first two kinds are "
        "differences as this package compares them.",
        MEAN_COLUMNS,
        mean_row,
        [(name, n) for name in MEASUREMENTS | DIFFERENCES for n in SIZES],
        times=2,
        kinds=KINDS,
        alone=(
            "Ten differences",
            (
                "Some of these shapes at n = 10, with every one whose coverage is below the "
                "promise. Coverage and share of studies without an interval in %, and the median "
                "width as a multiple of Student's. Then the coverage of the candidates that were "
                "not chosen, on the same studies."
            ),
            ALONE,
            10,
        ),
    ),
    Table(
        "Coarse differences",
        "As in the first table: rewards of 0 or 1 that 20, 40 or 60 % of the tasks win and 0, 10 "
        "or 20 % lose, and two skewed grids.",
        MEAN_COLUMNS,
        mean_row,
        [(name, n) for name in COARSE for n in SIZES[:2]],
        kinds=COARSE_KINDS,
    ),
    Table(
        "Pairs in clusters",
        "One to five differences per cluster, with the given share of their variance in common. "
        "Coverage, and alarms of the sign-flip test without any difference, in %: by cluster, and "
        "as if the pairs were independent.",
        "differences | clusters | shared | coverage | coverage ignoring clusters | alarms | "
        "alarms ignoring clusters",
        cluster_row,
        [(name, n, part) for name in CLUSTERED for n in (6, 30) for part in (0.0, 0.9)],
        times=2,
    ),
    Table(
        "Two equal arms in few clusters",
        "Clusters of 1 to 15 tasks that share half of an arm's variance. Coverage, and verdicts "
        "`better` or `worse` without any difference, in %: by the clusters' means, and as if the "
        "tasks were independent.",
        "measurement | clusters | shared | coverage | verdicts | verdicts ignoring clusters",
        few_clusters_row,
        [(name, n, 0.5) for name in FEW_CLUSTERS for n in (2, 5)],
    ),
    Table(
        "Repositories of uneven size",
        "Tasks of twelve repositories of SWE-bench Verified's sizes; the true effect of each "
        "spreads by the second column around the third. Verdicts and coverage in %, and the means "
        "of the interval's width and of the smallest detectable difference.",
        "tasks | spread of effects | effect | verdicts | coverage | width | detectable",
        uneven_row,
        [(200, tau, effect) for tau in (0.0, 0.1, 0.2) for effect in (0.0, 0.1)]
        + [(500, 0.2, effect) for effect in (0.0, 0.1)],
        times=0.5,
    ),
    Table(
        "Equal arms of which one lost its worst tasks",
        "Clear gains in %, of the tasks that are left, and of those that stay clear with the lost "
        "tasks as the worst of all: where the tasks with the lowest values of the comparison are "
        "lost, and where those with the lowest differences are.",
        "measurement | n | lost | by value: clear | stays clear | by difference: clear | "
        "stays clear",
        missing_row,
        [(name, n, share) for name in LOST for n, share in ((24, 0.1), (100, 0.2))],
        times=0.5,
    ),
    Table(
        "Two equal arms (A/A)",
        "Alarms of the sign-flip test (p < .05), and verdicts `better` or `worse` (p < .05 and an "
        "interval without 0), in %; at most 5 is promised.",
        "measurement | n | alarms | verdicts",
        null_row,
        [(name, n) for name in ARMS for n in (10, 100)],
        times=5,
    ),
    Table(
        "A planted difference",
        "The true difference, in standard deviations of the differences, is the smallest "
        "detectable one, which the verdict should find in 80 % of studies. Found in %.",
        "differences | n | planted | found by the test | found by the verdict",
        power_row,
        [(name, n) for name in SPREADS for n in (6, 10, 100)],
    ),
    Table(
        "Families of tests",
        "20 associations over 40 tasks by Benjamini-Hochberg, and 11 metrics over 12 pairs by "
        "Holm, all correlated. In % of studies: any false discovery (Holm promises at most 5), the "
        "mean share of false among all discoveries (Benjamini-Hochberg promises at most 5), and "
        "the share of the true ones found.",
        "adjustment | tests | true | any false | share false | found",
        family_row,
        [("Benjamini-Hochberg", n) for n in (0, 4)] + [("Holm", n) for n in (0, 3)],
    ),
    Table(
        "Interval of Spearman's correlation",
        "Coverage and share of studies without an interval in %, and the coverage of Bonett & "
        "Wright's interval and of the percentile bootstrap alone. In the last design n counts "
        "rows, and tasks are the clusters.",
        "design | n | true r | coverage | no interval | Bonett & Wright | percentile",
        association_row,
        [(name, n) for name in ASSOCIATIONS for n in (10, 100)]
        + [("two rows a task", n) for n in (12, 200)],
    ),
]


def write_page(
    description: str | None,
    target: Path,
    tables: list[Table],
    introduction: Callable[[int], str],
    reading: str,
) -> None:
    """Run the tables as the command line asks, and print, or write, the page they make."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--cache", type=Path, help="folder of finished rows, to continue from")
    parser.add_argument("--write", action="store_true", help=f"write {target.name}")
    options = parser.parse_args()
    started = time.monotonic()
    with ProcessPoolExecutor(options.processes) as pool:
        pending = [table.start(pool, options.studies, options.cache) for table in tables]
        rows = []
        for table, futures in zip(tables, pending, strict=True):
            rows.append([future.result() for future in futures])
            print(f"{time.monotonic() - started:5.0f} s  {table.title}", file=sys.stderr)
    parts = [introduction(options.studies).rstrip()]
    for table, found in zip(tables, rows, strict=True):
        parts += table.markdown(found, options.studies)
    text = "\n".join([*parts, reading.rstrip(), ""])
    print(text)
    print(f"<!-- {time.monotonic() - started:.0f} s -->")
    if options.write:
        target.write_text(text, encoding="utf-8")


def introduction(studies: int) -> str:
    return INTRODUCTION.format(
        studies=studies,
        resamples=N_RESAMPLES,
        error=100 * (0.95 * 0.05 / studies) ** 0.5,
        error_of_twice=100 * (0.95 * 0.05 / (2 * studies)) ** 0.5,
        low=PROMISED[0],
        high=PROMISED[1],
    )


if __name__ == "__main__":
    write_page(__doc__, TARGET, TABLES, introduction, READING)
