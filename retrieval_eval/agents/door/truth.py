"""A table of truth: what each task expects, as a benchmark publishes it.

A row names its task and any of: ``files``; the reference ``patch``; ``edit_files``; and
``contexts``, which are files with line ranges. Rows of SWE-bench are such rows, and so are gold
contexts of ContextBench. A folder of patches, ``<task>.patch`` or ``<task>.diff``, is one too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from retrieval_eval.agents.door.table import SUFFIXES, is_table, records_of
from retrieval_eval.agents.truth import ground_truth_of
from retrieval_eval.agents.truth.readers import of_patches, touched_by
from retrieval_eval.agents.truth.shapes import Entry, RawChunk, Source
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.io.files import decode, entries, probe
from retrieval_eval.io.user_files import read_user_text
from retrieval_eval.records import GroundTruth

if TYPE_CHECKING:
    import pandas as pd

TASKS: Final = ("task", "instance_id", "task_id", "id")
"""Columns that name a task, the first that is there."""

_PATCHES: Final = ("patch", "gold_patch")
_CONTEXTS: Final = ("contexts", "gold_context", "gold_contexts")
_PATHS: Final = ("path", "file", "file_path", "filename")
_FIRST: Final = ("line_start", "start_line", "start")
_LAST: Final = ("line_end", "end_line", "end")
_PATCH_SUFFIXES: Final = (".patch", ".diff")
_BETWEEN: Final = re.compile(r"[;\n]")
_SHOWN: Final = 60


class Truths(Struct, frozen=True):
    """The ground truth of tasks by their name, and sentences about what could not be used."""

    name: str
    by_task: dict[str, GroundTruth]
    problems: tuple[str, ...] = ()


def is_truth(place: Path) -> bool:
    """Return whether a place is a table of truth or a folder of patches, and no folder of tasks."""
    if is_table(place):
        return True
    return probe(place.is_dir) and any(p.suffix in _PATCH_SUFFIXES for p in entries(place))


def read_truths(given: Path | pd.DataFrame) -> Truths:
    r"""Return the ground truth of every task in a table or in a folder of patches.

    Parameters
    ----------
    given
        CSV, JSON lines, a JSON list, Parquet or a frame; or a folder of patches named by task.

    Raises
    ------
    BadInputError
        When it cannot be read, names no task or states nothing of any.

    Examples
    --------
    >>> import pandas as pd
    >>> patch = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+y\n"
    >>> found = read_truths(pd.DataFrame({"instance_id": ["t-1"], "patch": [patch]}))
    >>> [str(file) for file in found.by_task["t-1"].files]
    ['src/a.py']
    """
    if isinstance(given, Path) and probe(given.is_dir):
        name, records = given.name, list(_patches_in(given))
    else:
        name = given.name if isinstance(given, Path) else "truth"
        records = list(records_of(given))
    name = visible(name)
    if not records:
        kinds = f"a table ({', '.join(SUFFIXES)}) or a folder of {' or '.join(_PATCH_SUFFIXES)}"
        raise BadInputError(f"{name}: states no task; a truth is {kinds}")
    key = next((key for key in TASKS if any(key in record for record in records)), None)
    stating = ("files", "edit_files", *_PATCHES, *_CONTEXTS)
    names = list(dict.fromkeys(str(column) for record in records for column in record))
    if key is None or not any(column in names for column in stating):
        raise BadInputError(
            f"{name}: a row of truth names its task ({', '.join(TASKS)}) and states "
            f"{', '.join(stating)}; the columns are {visible(', '.join(names[:20]), 300)}"
        )
    truths: dict[str, GroundTruth] = {}
    problems: list[str] = []
    for number, record in enumerate(records, 1):
        here = f"{name}: row {number}"
        task = record.get(key)
        if not isinstance(task, str) or not task.strip():
            problems.append(f"{here}, {key}: is empty, so it is left out")
            continue
        task = task.strip()
        if task in truths:
            problems.append(f"{here}: {visible(task, _SHOWN)!r} again; the first is kept")
            continue
        truths[task] = _truth(record, name, here, problems)
    return Truths(name, truths, tuple(problems))


def _patches_in(folder: Path) -> Iterable[Mapping[str, Any]]:
    for path in entries(folder):
        if path.suffix in _PATCH_SUFFIXES and probe(path.is_file):
            yield {"task": path.stem, "patch": read_user_text(path)}


def _truth(record: Mapping[str, Any], name: str, here: str, problems: list[str]) -> GroundTruth:
    """Return what a row states: line ranges first, else its files, else those of the patch."""
    patch, column = _first_text(record, _PATCHES)
    touched = touched_by([patch]) if patch else None
    if touched is not None and not touched.files:
        problems.append(f"{here}, {column}: expected a unified diff, and no file is named in it")
    chunks = tuple(_chunks(record, here, problems))
    files = tuple(map(Entry, _paths(record, "files", here, problems)))
    edits = tuple(map(Entry, _paths(record, "edit_files", here, problems)))
    files = files or tuple(dict.fromkeys(chunk.entry for chunk in chunks)) or edits
    stated = Source(
        name,
        "high",
        files,
        chunks=chunks,
        edit_entries=edits or (touched.files if touched is not None else None) or None,
    )
    sources = (stated,) if files else ()
    if touched is not None and patch:
        sources = (*sources, of_patches(f"{name}: {column}", "high", [patch], touched, ()))
    repository = record.get("repo")
    return ground_truth_of(sources, repository if isinstance(repository, str) else None)


def _first_text(record: Mapping[str, Any], columns: Iterable[str]) -> tuple[str, str]:
    for column in columns:
        value = record.get(column)
        if isinstance(value, str) and value.strip():
            return value, column
    return "", ""


def _listed(value: Any) -> list[Any] | None:
    """Return a cell as a list; text may be JSON, or names with ``;`` or line ends between them."""
    if value is None or value == "" or isinstance(value, float):
        return []
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, str):
        text = value.strip()
        if text[:1] == "[":
            value, problem = decode(text)
            if problem is not None:
                return None
        else:
            return [part.strip() for part in _BETWEEN.split(text) if part.strip()]
    return list(value) if isinstance(value, list | tuple) else None


def _paths(record: Mapping[str, Any], column: str, here: str, problems: list[str]) -> Iterable[str]:
    found = _listed(record.get(column))
    if found is None or not all(isinstance(path, str) for path in found):
        got = visible(str(record.get(column)), _SHOWN)
        problems.append(f"{here}, {column}: expected paths, as a list or with ; between, got {got}")
        return ()
    return (path for path in found if path.strip())


def _chunks(record: Mapping[str, Any], here: str, problems: list[str]) -> Iterable[RawChunk]:
    for column in _CONTEXTS:
        found = _listed(record.get(column))
        for item in [None] if found is None else found:
            one = _chunk(item)
            if one is None:
                got = visible(str(item), _SHOWN)
                problems.append(
                    f"{here}, {column}: expected objects with path, line_start and line_end, "
                    f"got {got}"
                )
            else:
                yield one


def _chunk(item: Any) -> RawChunk | None:
    if not isinstance(item, dict):
        return None
    path, _ = _first_text(item, _PATHS)
    first, last = (
        next((item[key] for key in keys if type(item.get(key)) is int), None)
        for keys in (_FIRST, _LAST)
    )
    if not path or first is None or last is None or not 1 <= first <= last:
        return None
    return RawChunk(Entry(path), first, last)
