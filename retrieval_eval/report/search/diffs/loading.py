"""From the names of two search runs to frames of what lies between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from retrieval_eval.errors import BadInputError
from retrieval_eval.model import to_builtins
from retrieval_eval.report.search.demo import DEMO, DEMO_OUTPUT, MeasuredDemo, measured_demo
from retrieval_eval.report.search.diffs.run import SearchDiff
from retrieval_eval.search.diff import DEFAULT_FLAG_POINTS, diff
from retrieval_eval.search.guard.files import guard_of
from retrieval_eval.search.guard.pinned import read_pinned
from retrieval_eval.search.noise import read_noise
from retrieval_eval.search.run_files import document_of
from retrieval_eval.search.run_names import named_run
from retrieval_eval.values import DEFAULT_SEED

DATA = "data/eval"


@dataclass(frozen=True, slots=True)
class DiffSources:
    """What is compared, and how; an empty text means none. ``accept`` is comma-separated."""

    a: str
    b: str = ""
    data: str = DATA
    accept: str = ""
    flag_points: float = DEFAULT_FLAG_POINTS
    queries: str = ""
    noise: str = ""
    seed: int = DEFAULT_SEED

    @property
    def is_demo(self) -> bool:
        """Whether the built-in demonstration is meant, which has both runs."""
        return self.a == DEMO and not self.b

    def with_demo(self, made: MeasuredDemo) -> DiffSources:
        """Return the same with the runs of the measured demonstration, and its noise."""
        noise = self.noise or str(made.noise)
        return replace(self, a=str(made.baseline), b=str(made.run), noise=noise)


def load_diff(
    a: str | Path,
    b: str | Path = "",
    *,
    data: str | Path = DATA,
    accept: str | Sequence[str] = "",
    flag_points: float = DEFAULT_FLAG_POINTS,
    queries: str | Path = "",
    noise: str | Path = "",
    seed: int = DEFAULT_SEED,
) -> SearchDiff:
    """Return what changed from one search run to another, as data frames.

    Parameters
    ----------
    a, b
        Files of search runs, or labels of runs in ``data``. ``demo`` for ``a`` alone is the
        built-in demonstration, which is written to ``reports/search-demo/data`` and measured
        twice; beside a ``b`` it is a label as any other.
    data
        The folder whose reports are known by their labels.
    accept
        Fingerprints that may differ, by name (see `retrieval_eval.search.comparability`), as a
        sequence or separated by commas.
    flag_points
        Metrics that moved by more are flagged.
    queries
        A pinned list, shown as a slice of its own.
    noise
        A noise file, to show changes beside what mere repetition does.
    seed
        Seed of resampling.

    Raises
    ------
    BadInputError
        When a file or label does not exist or is of the wrong kind.
    NothingToEvaluateError
        When the runs did not measure the same thing, and that was not accepted.
    """
    named = accept if isinstance(accept, str) else ",".join(accept)
    chosen = DiffSources(
        _text(a),
        _text(b),
        data=_text(data),
        accept=named,
        flag_points=flag_points,
        queries=_text(queries),
        noise=_text(noise),
        seed=seed,
    )
    if chosen.is_demo:
        chosen = chosen.with_demo(measured_demo(DEMO_OUTPUT))
    return read_diff(chosen)


def read_diff(sources: DiffSources) -> SearchDiff:
    """Do what `load_diff` does, for runs that lie in files."""
    if not (sources.a and sources.b):
        given = "only one was" if sources.a or sources.b else "none was"
        raise BadInputError(
            f"name two search runs, a and b; {given} given (a = demo alone is the built-in "
            "demonstration, which is simulated)"
        )
    first, second = (named_run(name, Path(sources.data)) for name in (sources.a, sources.b))
    document = diff(
        first.run,
        second.run,
        accept=[code for code in map(str.strip, sources.accept.split(",")) if code],
        flag_points=sources.flag_points,
        seed=sources.seed,
        pinned=read_pinned(Path(sources.queries)).ids if sources.queries else None,
    )
    return SearchDiff(
        to_builtins(document),
        document_of(first.run),
        document_of(second.run),
        noise=read_noise(Path(sources.noise)) if sources.noise else None,
        notices=(*first.notices, *second.notices),
        guard=guard_of(first.path, second.path, Path(sources.noise) if sources.noise else None),
    )


def _text(value: Any) -> str:
    if not isinstance(value, str | Path):
        raise BadInputError(f"a file is given as text, not as {value!r}")
    return str(value)
