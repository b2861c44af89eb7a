"""Search runs as files: reading and checking them, and the bytes they are written as."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.artefacts import read_artefact
from retrieval_eval.io.files import json_bytes, probe, read_json
from retrieval_eval.model import from_builtins, to_builtins
from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.schema import check_version, faults, kind_of
from retrieval_eval.search.gold.faults import pointer
from retrieval_eval.search.run.document import without_untrusted

_MOST_FAULTS: Final = 5
# Sums of gains are off by their last digits.
_ROUNDING: Final = 1e-9


def load_search_run(path: Path) -> SearchRun:
    """Return the search run in a file, `without_untrusted` answers.

    Any version 1.x or 2.x is read, whatever wrote it.

    Raises
    ------
    BadInputError
        When the file cannot be read, or holds no search run this package reads; the message
        names JSON pointers.
    """
    return without_untrusted(from_builtins(_read(path), SearchRun, str(path), strict=False))


def _read(path: Path) -> dict[str, Any]:
    if not probe(path.is_file):
        raise BadInputError(f"{path}: no such file; `retrieval-eval search run` writes one")
    found = read_artefact(path, path.parent)
    if found.problem is not None:
        problem = found.problem.removeprefix(f"{path.name}: ")
        raise BadInputError(f"{path}: not a search run: {problem}")
    check_version(found.value, str(path))
    if kind_of(found.value) != "search_run":
        raise BadInputError(f"{path}: not a search run: it lacks 'run' and 'queries'")
    wrong = faults(found.value, "search_run") or _endless(found.value) or _off_scale(found.value)
    if wrong:
        more = f" (and {len(wrong) - _MOST_FAULTS} more)" if len(wrong) > _MOST_FAULTS else ""
        listed = "; ".join(map(str, wrong[:_MOST_FAULTS]))
        raise BadInputError(f"{path}: not a valid search run: {listed}{more}")
    document: dict[str, Any] = found.value
    return document


def _endless(document: Any) -> list[str]:
    """Return the places of numbers that no float can hold, which Python's JSON lets pass."""
    if _is_finite(document):
        return []
    found = []
    rest: list[tuple[Any, tuple[object, ...]]] = [(document, ())]
    while rest:
        value, where = rest.pop()
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(item, dict | list):
                rest.append((item, (*where, key)))
            elif isinstance(item, int | float) and not abs(item) <= sys.float_info.max:
                found.append(f"{pointer(*where, key)}: expected a finite number")
    return sorted(found)


def _is_finite(document: Any) -> bool:
    """Return whether a float can hold every number; without places, since most runs are fine."""
    most = sys.float_info.max
    rest = [document]
    while rest:
        value = rest.pop()
        for item in value.values() if type(value) is dict else value:
            kind = type(item)
            if kind is dict or kind is list:
                rest.append(item)
            elif (kind is float or kind is int) and not -most <= item <= most:
                return False
    return True


def _off_scale(document: Mapping[str, Any]) -> list[str]:
    """Return the places of measures outside of 0 to 1, which no run can have."""
    blocks: dict[tuple[object, ...], Any] = {("metrics",): document["metrics"]}
    for dimension, parts in document["slices"].items():
        blocks |= {("slices", dimension, name, "metrics"): parts[name]["metrics"] for name in parts}
    values: dict[tuple[object, ...], Any] = {
        (*where, name, "value"): mean["value"]
        for where, means in blocks.items()
        for name, mean in means.items()
    }
    for place, query in enumerate(document["queries"]):
        values |= {("queries", place, "metrics", name): v for name, v in query["metrics"].items()}
    return [
        f"{pointer(*where)}: {value} is no share from 0 to 1"
        for where, value in values.items()
        if value is not None and not -_ROUNDING <= value <= 1 + _ROUNDING
    ]


def document_of(run: SearchRun) -> dict[str, Any]:
    """Return a search run as it is read back from its file: plain objects and lists."""
    document: dict[str, Any] = _with_lists(to_builtins(run))
    return document


def _with_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _with_lists(item) for name, item in value.items()}
    return [_with_lists(item) for item in value] if isinstance(value, list | tuple) else value


def run_bytes(document: Mapping[str, Any]) -> bytes:
    """Return the bytes of a search run: one line for each block and each query.

    A baseline is committed, and the change of one query is then a change of one line.

    Examples
    --------
    >>> print(run_bytes({"label": "x", "queries": [{"id": "a"}, {"id": "b"}]}).decode(), end="")
    {"label": "x",
    "queries": [
    {"id": "a"},
    {"id": "b"}]}
    """
    blocks = []
    for name, value in document.items():
        text = _line(value)
        if name == "queries" and value:
            text = "[\n" + ",\n".join(map(_line, value)) + "]"
        blocks.append(f"{_line(name)}: {text}")
    return ("{" + ",\n".join(blocks) + "}\n").encode("utf-8")


def _line(value: Any) -> str:
    return json_bytes(value).decode("utf-8").rstrip("\n")


# --------------------------------------------------------------------------------------------------
# Search runs by path or by label.

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
