"""Search runs by path or by label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import probe, read_json
from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.search.run.run_files import load_search_run

REPORTS: Final = "eval-report-*.json"
WITH_CLAIMS: Final = ".claims.json"
"""What ends the name of a run that also holds the claims of drafts, after the name without."""


@dataclass(frozen=True, slots=True)
class Named:
    """A run given by name: where it was found, and notices about the choice."""

    run: SearchRun
    path: Path
    notices: tuple[str, ...] = ()


def named_run(name: str, folder: Path) -> Named:
    """Return the run that a name means: a file, else a label among the reports of a folder.

    Where several reports have the label it is the newest, with a notice.

    Raises
    ------
    BadInputError
        When it is neither (the message lists the labels there are), or the file is no valid run.
    """
    path, notices = run_file(name, folder)
    return Named(load_search_run(path), path, notices)


def run_file(name: str, folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Do what `named_run` does without reading the run; return its file and the notices."""
    path = Path(name)
    if probe(path.is_file):
        return path, ()
    found = _labelled(folder)
    chosen = _without_claims([report for report in found if name and report.label == name])
    if not chosen:
        labels = sorted({report.label for report in found if report.label})
        listed = ", ".join(map(repr, labels)) or "none"
        raise BadInputError(
            f"{name!r} is neither a file nor the label of a run in {folder}; `retrieval-eval search"
            f" run` writes one; labels there: {listed}"
        )
    newest = max(chosen, key=lambda report: (report.moment, len(report.stem), report.stem))
    if len(chosen) == 1:
        return newest.path, ()
    return newest.path, (f"{len(chosen)} runs are labelled {name!r}; the newest is {newest.path}",)


@dataclass(frozen=True, slots=True)
class _Report:
    path: Path
    label: str
    moment: str

    @property
    def stem(self) -> str:
        """The name of the run: of one second, the second has ``-2`` behind it, and so on."""
        return self.path.name.removesuffix(WITH_CLAIMS).removesuffix(".json")


def _without_claims(reports: Sequence[_Report]) -> list[_Report]:
    """Return the reports but for those that also exist with the claims of their drafts."""
    paths = {report.path for report in reports}
    return [
        report
        for report in reports
        if report.path.name.endswith(WITH_CLAIMS)
        or report.path.with_name(f"{report.stem}{WITH_CLAIMS}") not in paths
    ]


def _labelled(folder: Path) -> Sequence[_Report]:
    found = []
    for path in sorted(folder.glob(REPORTS)):
        # A file that is no report has no label; it is read in full, and checked, when it is chosen.
        read = read_json(path, folder)
        value = read.value if isinstance(read.value, dict) else {}
        label, moment = value.get("label"), value.get("generated_at")
        if isinstance(label, str) and isinstance(moment, str):
            found.append(_Report(path, label, moment))
    return found
