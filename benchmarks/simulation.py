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

from simulated_draws import ARMS, ASSOCIATIONS, COARSE, DIFFERENCES, KINDS, MEASUREMENTS, SPREADS
from simulated_means import (
    CLUSTERED,
    FEW_CLUSTERS,
    LEAST_MOVED,
    N_CALIBRATING,
    cluster_row,
    few_clusters_row,
    few_row,
    likelihood_row,
    mean_row,
    null_row,
    power_row,
    skewed_row,
    tail_row,
)
from simulated_page import INTRODUCTION, READING
from simulated_studies import (
    N_RESAMPLES,
    PROMISED,
    Row,
    association_row,
    family_row,
    flagged,
)

SIZES = (10, 30, 100)
SKEWED = (
    "normal",
    "skewed: lognormal(σ = 0.5) − 1",
    "very skewed: lognormal(σ = 1) − 1",
    "cost, lognormal, ratio 1.5",
    "60 % zeros, else exponential",
    "60 % zeros, else exponential − 0.5",
)
LONG = (
    "reward 0 or 1, once",
    "60 % zeros, else thirds",
    "60 % zeros, else −1 or 1",
    "cost, lognormal, ratio 1",
)
SPARSE = (
    "recall of 1 to 6 files",
    "reward 0 or 1, once",
    *(name for name in DIFFERENCES if name.startswith(("tied", "60 % zeros"))),
)
MEAN_COLUMNS = "differences | n | coverage | no interval | width | Student's t | BCa | bootstrap-t"
KINDS_TITLE = "Kinds of differences"
KINDS_TEXT = (
    "Coverage of the interval of the mean difference in %: the mean over the shapes of a kind, "
    "where too short and too long ones cancel, and the lowest and the highest of them, which are "
    "what counts. The shapes are those of the next two tables."
)
KINDS_COLUMNS = "differences | n | shapes | coverage | lowest | highest"
TARGET = Path(__file__).resolve().parents[1] / "docs" / "simulation.md"

Call = tuple[Any, ...]


class Table:
    """A heading, what it shows, and its rows, which are computed elsewhere.

    ``times`` multiplies the studies of every row. Rows that hold a coverage outside what was
    promised go to a table of their own under ``limits``, a heading and its text, where given.
    ``kinds``, beginnings of the rows' names, get a table of the rows' mean coverage in front.
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
        limits: tuple[str, str] | None = None,
        kinds: dict[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.title, self.text, self.columns = title, text, columns.split(" | ")
        self.row, self.calls, self.times = row, calls, times
        self.limits, self.kinds = limits, kinds

    def start(
        self, pool: ProcessPoolExecutor, studies: int, cache: Path | None = None
    ) -> list[Future[Row]]:
        return [
            pool.submit(cached_row, self.row, (*call, self._studies(studies)), cache)
            for call in self.calls
        ]

    def markdown(self, rows: list[Row], studies: int) -> Iterator[str]:
        text = f"{self.text} {self._studies(studies)} studies per row."
        if self.kinds is not None:
            yield from _section(
                KINDS_TITLE, KINDS_TEXT, KINDS_COLUMNS.split(" | "), self._by_kind(rows)
            )
        failed = [row for row in rows if self.limits and any(map(_is_bold, row))]
        held = [row for row in rows if row not in failed]
        if held:
            yield from _section(self.title, text, self.columns, held)
        if self.limits and failed:
            yield from _section(*self.limits, self.columns, failed)

    def _studies(self, studies: int) -> int:
        return max(1, round(studies * self.times))

    def _by_kind(self, rows: list[Row]) -> list[Row]:
        found: dict[tuple[str, str], list[float]] = {}
        for name, n, coverage, *_ in rows:
            for kind, beginnings in (self.kinds or {}).items():
                if name.startswith(beginnings):
                    found.setdefault((kind, n), []).append(float(coverage.strip("*")))
        return [
            [
                kind,
                n,
                str(len(of)),
                *(flagged(f"{cover:.1f}") for cover in (sum(of) / len(of), min(of), max(of))),
            ]
            for (kind, n), of in found.items()
        ]


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
        package / "search" / "noise_level.py",
        package / "search" / "guard" / "rule.py",
        package / "search" / "guard" / "guard.toml",
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
        "The first rows are differences as this package compares them: of recall, nDCG and "
        "rewards, which are bounded and often 0, and of costs, most of which both arms share. "
        "Then come single shapes. Coverage in %, share of studies without an interval in %, and "
        "the median width as a multiple of Student's. The last three columns are the coverage "
        "of the candidates that were not chosen, on the same studies.",
        MEAN_COLUMNS,
        mean_row,
        [(name, n) for name in MEASUREMENTS | DIFFERENCES for n in SIZES],
        times=2,
        limits=(
            "Where it fails",
            (
                "The rows of that table whose coverage is outside the promise. No interval of a "
                "mean can keep its level over all distributions (Bahadur & Savage 1956): "
                "however many values there are, a tail that they do not show can determine the "
                "mean."
            ),
        ),
        kinds=KINDS,
    ),
    Table(
        "Coarse differences",
        "As above, for rewards of 0 or 1 that are won and lost in given shares, and two skewed "
        "grids. In the last column the farther end of Student's t and the bootstrap-t, however "
        "many values tie.",
        MEAN_COLUMNS + " | farther",
        mean_row,
        [(name, n) for name in COARSE for n in SIZES[:2]],
    ),
    Table(
        "What ten values can show",
        "Coverage in %; the share of studies, in %, in which none of the ten values is from the "
        "largest tenth of the distribution; and the coverage with such a value and without. "
        "Then how far above the mean the interval reaches (median), and how far it would have to "
        "reach if the shape were known up to location and scale, in standard errors of the sample.",
        "differences | n | coverage | tail not seen | coverage, seen | coverage, not seen | "
        "reaches | needed",
        tail_row,
        [(name, 10) for name in SKEWED],
        times=2,
    ),
    Table(
        "Intervals made for skewness",
        "Ten differences. Coverage in %, and for the candidates the median width as a multiple of "
        "the interval's: Johnson's (1978) modified t, Hall's (1992) cubic transformation with the "
        "bootstrap-t, and the smoothed bootstrap-t (Polansky & Schucany 1997), each no narrower "
        "than Student's.",
        "differences | n | coverage | Johnson | width | Hall | width | smoothed | width",
        skewed_row,
        [(name, 10) for name in SKEWED],
    ),
    Table(
        "Empirical likelihood and a calibrated level",
        "Ten differences. Coverage in % of the interval; of empirical likelihood (Owen 2001) with "
        "Student's quantile, adjusted by a pseudo-value (Chen, Variyath & Abraham 2008), and with "
        "the quantile of resamples; and of the farther end of Student's t and the bootstrap-t, "
        f"its level calibrated by {N_CALIBRATING} resamples of {N_CALIBRATING} resamples "
        "(Loh 1987; Beran 1987).",
        "differences | n | coverage | likelihood | adjusted | bootstrapped | calibrated",
        likelihood_row,
        [(name, 10) for name in (*SKEWED, *LONG)],
    ),
    Table(
        "An interval from few differences",
        "Coverage in % if an interval is given only for at least so many nonzero differences, and "
        "the share of studies, in %, that then have none; – if fewer than 5 % have one.",
        "differences | n | " + " | ".join(f"≥ {least} | none" for least in LEAST_MOVED),
        few_row,
        [(name, n) for name in SPARSE for n in (6, 10)],
        times=2,
    ),
    Table(
        "Pairs in clusters",
        "One to five differences per cluster, with the given share of their variance in common. "
        "Coverage of the interval, and alarms of the sign-flip test without any "
        "difference, both in %: by cluster, and as if the pairs were independent.",
        "differences | clusters | shared | coverage | coverage ignoring clusters | alarms | "
        "alarms ignoring clusters",
        cluster_row,
        [(name, n, part) for name in CLUSTERED for n in (6, 10, 30) for part in (0.0, 0.5, 0.9)],
        times=2,
    ),
    Table(
        "Two equal arms in few clusters",
        "Two to five clusters of 1 to 15 tasks, with the given share of the variance of an arm in "
        "common. Coverage of the interval of the mean of the clusters' means, and verdicts "
        "`better` or `worse` without any difference, both in %: by the clusters' means, and as if "
        "the tasks were independent.",
        "measurement | clusters | shared | coverage | verdicts | verdicts ignoring clusters",
        few_clusters_row,
        [(name, n, part) for name in FEW_CLUSTERS for n in (2, 3, 5) for part in (0.0, 0.5, 0.9)],
    ),
    Table(
        "Two equal arms (A/A)",
        "Both arms are drawn from one distribution. Alarms of the sign-flip test (p < .05), and "
        "verdicts `better` or `worse` (p < .05 and an interval without 0), in %; at most 5 is "
        "promised.",
        "measurement | n | alarms | verdicts",
        null_row,
        [(name, n) for name in ARMS for n in (6, *SIZES)],
        times=5,
    ),
    Table(
        "A planted difference",
        "The true difference is the smallest detectable one, which the verdict should find in 80 % "
        "of studies, in standard deviations of the differences. Found by the test and by the "
        "verdict, in %.",
        "differences | n | planted | found by the test | found by the verdict",
        power_row,
        [(name, n) for name in SPREADS for n in (6, 8, *SIZES)],
    ),
    Table(
        "Families of tests",
        "20 associations over 40 tasks by Benjamini-Hochberg, and 11 metrics over 12 pairs by "
        "Holm, all correlated, some of them true. In % of studies: any false discovery (Holm "
        "promises at most 5); mean share of false among all discoveries (Benjamini-Hochberg "
        "promises at most 5); and the share of the true ones found.",
        "adjustment | tests | true | any false | share false | found",
        family_row,
        [("Benjamini-Hochberg", n) for n in (0, 4)] + [("Holm", n) for n in (0, 3)],
    ),
    Table(
        "Interval of Spearman's correlation",
        "Coverage in %, share of studies without an interval in %, and the coverage of Bonett & "
        "Wright's interval and of the percentile bootstrap alone. In the last design n counts "
        "rows, two to a task, and tasks are the clusters.",
        "design | n | true r | coverage | no interval | Bonett & Wright | percentile",
        association_row,
        [(name, n) for name in ASSOCIATIONS for n in SIZES]
        + [("two rows a task", n) for n in (12, 20, 60, 200)],
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
