"""The search demo, measured: a baseline, a run with other parameters, and what was done."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from retrieval_eval.demo.search import SearchDemo, write_search_demo
from retrieval_eval.io.files import remove
from retrieval_eval.records import Progress
from retrieval_eval.search.baseline import plan_update, write_update
from retrieval_eval.search.measure import Request, measure_request

DEMO: Final = "demo"
"""What stands for the built-in demonstration in place of a search run."""

DEMO_FOLDER: Final = "search-demo"
DEMO_OUTPUT: Final = Path("reports") / DEMO_FOLDER / "data"

CHANGED: Final[Mapping[str, str]] = {"k1": "2.0", "b": "0.2"}
"""BM25 parameters of the second run; the first has the defaults."""


@dataclass(frozen=True, slots=True)
class MeasuredDemo:
    """Where the parts of the measured demo lie.

    ``commands`` do by hand what was done: measure, make that the baseline, measure again, report.
    """

    run: Path
    baseline: Path
    backlog: str
    gold: Path
    commands: tuple[str, ...]

    def sources(self) -> tuple[str, str, str, str]:
        """Return run, baseline, backlog and gold set as text."""
        return (str(self.run), str(self.baseline), self.backlog, str(self.gold))


def measured_demo(root: Path, *, progress: Progress | None = None) -> MeasuredDemo:
    """Write the search demo below ``root``, measure BM25 with two settings, and keep the first.

    Runs of an earlier demo in ``root`` stay; its baseline and collection are replaced.
    """
    demo = write_search_demo(root)
    out = root / "eval"
    baseline = out / "baseline.json"
    if baseline.exists():
        remove(baseline, root)
    first = measure_request(_request(demo, out, "baseline"), progress=progress)
    write_update(plan_update(baseline, first.json_path))
    second = measure_request(_request(demo, out, "changed", CHANGED, baseline), progress=progress)
    return MeasuredDemo(
        second.json_path,
        baseline,
        _queue(demo),
        demo.gold,
        _commands(demo, out, baseline, first.json_path, second.json_path),
    )


def _request(
    demo: SearchDemo,
    out: Path,
    label: str,
    options: Mapping[str, str] | None = None,
    baseline: Path | None = None,
) -> Request:
    return Request(
        demo.gold,
        _retriever(demo),
        options=options or {},
        corpus_file=demo.corpus,
        label=label,
        baseline=baseline,
        backlog=_queue(demo),
        out=out,
        fresh=True,
    )


def _retriever(demo: SearchDemo) -> str:
    return f"bm25:{demo.corpus}"


def _queue(demo: SearchDemo) -> str:
    return f"sqlite:///{demo.feedback}"


def _commands(
    demo: SearchDemo, out: Path, baseline: Path, first: Path, second: Path
) -> tuple[str, ...]:
    measure = (
        *("search", "run", "--retriever", _retriever(demo), "--gold", str(demo.gold)),
        *("--corpus-file", str(demo.corpus), "--backlog", _queue(demo), "--out", str(out)),
    )
    options = [word for name, value in CHANGED.items() for word in ("--option", f"{name}={value}")]
    kept = ("--baseline", str(baseline))
    labels = ("--gold", str(demo.gold), "--backlog-database", _queue(demo))
    lines = (
        (*measure, "--label", "baseline"),
        ("search", "baseline", "--update", str(first), *kept),
        (*measure, *options, "--label", "changed", *kept),
        ("search", "report", str(second), *kept, *labels),
    )
    return tuple(shlex.join(("retrieval-eval", *words)) for words in lines)
