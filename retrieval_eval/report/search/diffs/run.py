"""A difference of two search runs as data frames, each built when it is first used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from retrieval_eval.model import from_builtins
from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.report import frames
from retrieval_eval.report.columns import DIFF_FRAMES
from retrieval_eval.report.search.noise import Noise
from retrieval_eval.report.search.reading import Row, coerce, lookup, read_row
from retrieval_eval.report.search.run import n_simulated
from retrieval_eval.search.noise import staleness

if TYPE_CHECKING:
    import pandas as pd

    from retrieval_eval.model.guard import GuardRuling
    from retrieval_eval.model.noise import NoiseFloor

Document = Mapping[str, Any]

_COLUMNS: Final = {name: columns for name, (_, columns) in DIFF_FRAMES.items()}


class SearchDiff(frames.Measured):
    """What changed from search run A to search run B.

    Every frame has exactly the columns declared in :mod:`retrieval_eval.report.columns`, and is
    handed out as a copy.

    Parameters
    ----------
    document
        The difference (schema ``search_diff``).
    a, b
        The two runs (schema ``search_run``).
    noise
        The noise of the system (schema ``search_noise``), to compare changes with.
    notices
        How runs were chosen, where that had to be decided.
    guard
        The verdict of the guard on B against A, or in a sentence why there is none.
    """

    frame_columns = _COLUMNS

    def __init__(
        self,
        document: Document,
        a: Document,
        b: Document,
        *,
        noise: NoiseFloor | None = None,
        notices: tuple[str, ...] = (),
        guard: GuardRuling | str = "no thresholds were read",
    ) -> None:
        self.document = document
        self.runs = (a, b)
        self.notices = notices
        self.guard = guard
        self.noise = None if noise is None else _noise(noise, b)

    @property
    def n_simulated(self) -> int:
        """How many queries of either gold set are invented."""
        return max(map(n_simulated, self.runs))

    @property
    def names(self) -> tuple[str, str]:
        """What A and B are called: their labels, ``A`` and ``B`` without, or when they agree."""
        a, b = (str(self.document[side]["label"]) for side in ("a", "b"))
        return (a, b) if a and b and a != b else ("A", "B")

    @frames.handed_out
    def changes(self) -> pd.DataFrame:
        """One row a part of the queries and metric: the change in points."""
        wholes = [("all", "all", self.document["metrics"])]
        wholes += [
            (dimension, level, part["metrics"])
            for dimension, levels in self.document["slices"].items()
            for level, part in levels.items()
        ]
        found = [
            read_row(change, _COLUMNS["changes"])
            | {
                "dimension": dimension,
                "level": level,
                "metric": name,
                "noise_points": self.band(name, None if dimension == "all" else change["n_pairs"]),
            }
            for dimension, level, metrics in wholes
            for name, change in metrics.items()
        ]
        return frames.make_frame(found, _COLUMNS["changes"])

    def band(self, metric: str, n: int | None = None) -> float | None:
        """Return the noise of a change of a metric (see `Noise.band`), None when not known."""
        return None if self.noise is None else self.noise.band(metric, n)

    @frames.handed_out
    def contributions(self) -> pd.DataFrame:
        """One row a query and metric that it moved, in points."""
        found = [
            {"id": query["id"], "metric": name, "points": points}
            for query in self.document["queries"]
            for name, points in query["contributions"].items()
        ]
        return frames.make_frame(found, _COLUMNS["contributions"])

    @frames.handed_out
    def documents(self) -> pd.DataFrame:
        """One row a query, cut-off and document that came or went."""
        found = [
            {"id": query["id"], "k": int(k), "moved": moved}
            | {c.name: coerce(entry.get(c.name), c.type) for c in _COLUMNS["documents"][3:]}
            for query in self.document["queries"]
            for k, sides in query["documents"].items()
            for moved in ("gained", "lost")
            for entry in sides[moved]
        ]
        return frames.make_frame(found, _COLUMNS["documents"])

    @frames.handed_out
    def first_documents(self) -> pd.DataFrame:
        """One row a query with another first document: both, with their grades."""
        found: list[Row] = [
            {
                "id": query["id"],
                "query": query["query"],
                **{
                    f"{what}_{side}": lookup(query, f"{side}/{what}")
                    for side in ("a", "b")
                    for what in ("doc", "grade")
                },
            }
            for query in self.document["top1_changed"]
        ]
        return frames.make_frame(found, _COLUMNS["first_documents"])

    def frame(self, name: str) -> pd.DataFrame:
        """Return a frame by its name in :data:`retrieval_eval.report.columns.DIFF_FRAMES`."""
        if name not in DIFF_FRAMES:
            raise KeyError(name)
        found: pd.DataFrame = getattr(self, name)
        return found

    def __repr__(self) -> str:
        return f"<SearchDiff {' → '.join(self.names)}: {len(self.document['queries'])} queries>"


def _noise(noise: NoiseFloor, run: Document) -> Noise:
    return Noise(noise, tuple(staleness(noise, from_builtins(run, SearchRun, "run B"))))
