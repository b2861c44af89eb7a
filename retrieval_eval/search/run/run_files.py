"""Search runs as files: reading and checking them, and the bytes they are written as."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.artefacts import read_artefact
from retrieval_eval.io.files import json_bytes, probe
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
