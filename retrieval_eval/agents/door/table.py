"""A table of trials: which file is the trace of which task and configuration, and how it ended.

It is CSV, JSON lines, a JSON list, Parquet or a frame, with a row a trial.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import starmap
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import Struct

from retrieval_eval.agents.truth import ground_truth_of
from retrieval_eval.agents.truth.readers import of_patches, touched_by
from retrieval_eval.agents.truth.shapes import Entry, RawChunk, Source
from retrieval_eval.errors import BadInputError
from retrieval_eval.escape import visible
from retrieval_eval.io.files import (
    Line,
    cell_text,
    decode,
    entries,
    first_bytes,
    json_lines,
    probe,
    write_bytes,
)
from retrieval_eval.io.user_files import read_user_bytes, read_user_text
from retrieval_eval.records import GroundTruth
from retrieval_eval.values import counted

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES: Final = (".csv", ".jsonl", ".json", ".parquet")

REQUIRED: Final = ("trace", "task")
_NUMBERS: Final = ("reward", "cost_usd", "elapsed_seconds")
_TEXTS: Final = ("config", "model", "harness", "harness_version", "benchmark", "sample", "repeat")
COLUMNS: Final = (
    *("trace", "task", "config", "reward", "cost_usd", "elapsed_seconds"),
    *("model", "harness", "harness_version", "repeat", "benchmark", "sample"),
)
"""The columns of a table."""

ONE_CONFIG: Final = "all"
"""The configuration of trials whose table names none."""

_LONGEST_TEXT: Final = 300
_LONG: Final = 20_000
"""Seconds, five and a half hours, that few trials of an agent take, and many milliseconds do."""

_MOST_SHOWN: Final = 5
_EMPTY: Final = frozenset({"", "na", "n/a", "nan", "none", "null", "<na>"})
_TRUTHS: Final = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_BYTES: Final = re.compile("[\udc80-\udcff]")
"""What replaces bytes that are not UTF-8."""

_PERCENT: Final = re.compile(r"\s*[\d.]+\s*%\s*")


class Row(Struct, frozen=True, kw_only=True):
    """A trial as its table states it; None where that states nothing.

    ``trace`` is the path of a trace file, or of the folder of one trial; ``sample`` names one of
    several traces in it. ``number`` is the place of the row in its table, from 1.
    """

    trace: str
    task: str
    config: str = ONE_CONFIG
    reward: float | None = None
    cost_usd: float | None = None
    elapsed_seconds: float | None = None
    model: str | None = None
    harness: str | None = None
    harness_version: str | None = None
    repeat: str | None = None
    benchmark: str | None = None
    sample: str | None = None
    number: int = 0


class LeftOut(Struct, frozen=True):
    """A trial that is stated and cannot be used, with a reason of `EXCLUSION_REASONS`."""

    trace: str
    config: str | None
    reason: str
    detail: str


class Rows(Struct, frozen=True):
    """The trials of a table or folder that can be used, and sentences about the others.

    Parameters
    ----------
    rows
        In the order of the table.
    problems
        Sentences about what was stated and is not used; of a table each names row and column, and
        what was expected there.
    left_out
        Trials without a row, which count as excluded.
    """

    rows: tuple[Row, ...]
    problems: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def read_trials(given: Path | pd.DataFrame, *, base: Path | None = None) -> Rows:
    """Return the trials of a table.

    Parameters
    ----------
    given
        A CSV file with a line of names, JSON lines, a JSON list of objects, a Parquet file, or a
        frame. ``trace`` and ``task`` have to be there; further columns are `COLUMNS`.
    base
        The folder to which paths of traces are relative; by default that of the file.

    Raises
    ------
    BadInputError
        When the file cannot be read, has no rows, or lacks a column that has to be there. A single
        cell that makes no sense stands in ``problems``, a row in ``left_out``.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"trace": ["a.json"], "task": ["t-1"], "reward": ["85%"]})
    >>> found = read_trials(frame)
    >>> found.problems
    ("table: row 1, reward: expected a share such as 0.85, got '85%'",)
    >>> [(one.reason, one.detail) for one in found.left_out]
    [('no_trace', 'table: row 1, trace: there is no a.json')]
    """
    name = given.name if isinstance(given, Path) else "table"
    records = _records(given)
    if not records:
        raise BadInputError(f"{visible(name)}: holds no row")
    names = list(dict.fromkeys(key for record in records for key in record.cells))
    if missing := [column for column in REQUIRED if column not in names]:
        has = ", ".join(visible(n, 60) for n in names[:20]) or "none"
        raise BadInputError(
            f"{visible(name)}: has no column {' and no column '.join(missing)}; its columns are "
            f"{has}; a table of trials has {', '.join(COLUMNS)}"
        )
    problems = [f"{visible(name)}: {text}" for text in _unknown_columns(names)]
    place = base if base is not None else given.parent if isinstance(given, Path) else Path()
    read = [_row(record, problems, name) for record in records]
    left_out = [row for row in read if isinstance(row, LeftOut)]
    rows = _distinct([row for row in read if isinstance(row, Row)], place, left_out, name)
    problems += [f"{visible(name)}: {text}" for text in _scales(rows)]
    return Rows(tuple(rows), tuple(problems), tuple(left_out))


def as_file(frame: pd.DataFrame, path: Path) -> Path:
    """Write a frame of trials or of truth as the table it is, with paths of traces from here."""
    rows = [{str(k): v for k, v in row.items()} for row in frame.to_dict("records")]
    for row in rows:
        if isinstance(row.get("trace"), str | Path):
            row["trace"] = str(Path(row["trace"]).absolute())
    plain = (json.dumps(row, default=_plain) for row in rows)
    write_bytes(path, "".join(f"{line}\n" for line in plain).encode())
    return path


def _plain(value: Any) -> Any:
    """Return a value of a frame that JSON does not know: an array as a list, else its text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def is_table(name: Path | str) -> bool:
    """Return whether a name is that of a file that may hold a table; of JSON only a list does."""
    path = Path(name)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES or not probe(path.is_file):
        return False
    if suffix != ".json":
        return True
    head, _ = first_bytes(path, path.parent)
    return head.lstrip()[:1] == b"["


def is_trials(place: Path) -> bool:
    """Return whether a file is meant as a table of trials, and no traces of some format."""
    if not is_table(place):
        return False
    if place.suffix.lower() in (".csv", ".parquet"):
        return True
    head, _ = first_bytes(place, place.parent)
    first, _ = decode(head.lstrip().partition(b"\n")[0])
    known = first if isinstance(first, dict) else head.decode("utf-8", "replace")
    return all(column in known if known is first else f'"{column}"' in known for column in REQUIRED)


class _Record(Struct, frozen=True):
    """A row of a table by the names of its columns, or what is wrong with it.

    ``number`` is its place, from 1; of JSON lines it is the line.
    """

    number: int
    cells: Mapping[str, Any]
    problem: str | None = None


def _records(given: Path | pd.DataFrame) -> list[_Record]:
    """Return the rows of a table; those of a file keep their own types.

    Raises `BadInputError` for a file that cannot be read or is of another kind.
    """
    if not isinstance(given, Path):
        rows = given.to_dict("records")
        return [_Record(n, {str(k): v for k, v in row.items()}) for n, row in enumerate(rows, 1)]
    if not probe(given.is_file):
        raise BadInputError(f"{given}: no such file")
    suffix = given.suffix.lower()
    if suffix not in SUFFIXES:
        raise BadInputError(
            f"{given}: a table is a file {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        )
    if suffix == ".parquet":
        return _records(_parquet(given))
    data = read_user_bytes(given)
    return _csv_rows(data, given) if suffix == ".csv" else list(_json_rows(data, given))


def _csv_rows(data: bytes, path: Path) -> list[_Record]:
    text = data.decode("utf-8-sig", "surrogateescape")
    head = text.partition("\n")[0]
    delimiter = max((",", ";", "\t"), key=head.count)
    limit = csv.field_size_limit(sys.maxsize)  # of the process, and patches are long
    try:
        read = list(csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise BadInputError(f"{path}: no CSV that can be read: {error}") from None
    finally:
        csv.field_size_limit(limit)
    return [_csv_record(number, row) for number, row in enumerate(read, 1)]


def _csv_record(number: int, row: Mapping[str | None, Any]) -> _Record:
    cells = {k.strip(): v for k, v in row.items() if k is not None and v}
    more = [cell for cell in row.get(None, ()) if cell]
    if more:
        known = len(row) - 1
        what = f"has {known + len(more)} cells, of which {known} have a column"
        return _Record(number, cells, what)
    if any(_BYTES.search(text) for text in cells.values()):
        return _Record(number, cells, "is not UTF-8")
    return _Record(number, {k: cell_text(v) for k, v in cells.items()})


def _json_rows(data: bytes, path: Path) -> Iterator[_Record]:
    if data.lstrip()[:1] == b"[":
        value, problem = decode(data)
        if problem is not None:
            raise BadInputError(f"{path}: {problem}")
        lines: Iterable[Line] = starmap(Line, enumerate(value, 1))
    else:
        lines = json_lines(io.BytesIO(data), path.name)
    for line in lines:
        if isinstance(line.value, dict):
            yield _Record(line.number, line.value)
        else:
            known = (line.problem or "").removeprefix(f"{path.name}: line {line.number}")
            # Where in its line a value breaks off would read like a row of the table.
            problem = known.lstrip(": ").partition(" (line ")[0]
            got = visible(str(line.value), _SHOWN)
            yield _Record(line.number, {}, problem or f"expected an object, got {got}")


def _parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(path)
    except ImportError:
        raise BadInputError(f"{path}: Parquet is read with pyarrow (extra 'dask')") from None
    except (OSError, ValueError, TypeError) as error:
        raise BadInputError(f"{path}: no Parquet file that can be read: {error}") from None


def _unknown_columns(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        if name not in COLUMNS:
            close = get_close_matches(name.lower(), COLUMNS, n=1, cutoff=0.6)
            hint = f"; did you mean {close[0]}" if close else ""
            yield f"column {visible(name, 60)!r} is not used{hint}"


def _row(read: _Record, problems: list[str], name: str) -> Row | LeftOut:
    record, number = read.cells, read.number

    def say(column: str, expected: str) -> None:
        got = visible(str(record.get(column)), 60)
        problems.append(
            f"{visible(name)}: row {number}, {column}: expected {expected}, got {got!r}"
        )

    texts: dict[str, str | None] = {}
    for column in (*REQUIRED, *_TEXTS):
        texts[column] = _text(record.get(column))
    if read.problem is not None:
        what = f"{visible(name)}: row {number}: {read.problem}"
        return LeftOut(texts["trace"] or "", texts["config"], "unreadable_row", what)
    for column in REQUIRED:
        if texts[column] is None:
            what = f"{visible(name)}: row {number}, {column}: is empty"
            return LeftOut(texts["trace"] or "", texts["config"], "nothing_named", what)
    numbers: dict[str, float | None] = {}
    for column in _NUMBERS:
        value = record.get(column)
        numbers[column] = number_in(value)
        if numbers[column] is None and _text(value) is not None:
            is_share = isinstance(value, str) and _PERCENT.fullmatch(value) is not None
            say(column, "a share such as 0.85" if is_share else "a number")
        elif column != "reward" and (numbers[column] or 0) < 0:
            say(column, "0 or more")
            numbers[column] = None
    stated = {k: v for k, v in {**texts, **numbers}.items() if v is not None}
    return msgspec.convert({**stated, "number": number}, Row)


def _text(value: Any) -> str | None:
    """Return a cell as text, or None for an empty one; whole numbers lose a ``.0`` of frames."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, str | int | float):
        return None
    text = str(value).strip()
    return None if text.lower() in _EMPTY else text[:_LONGEST_TEXT]


def number_in(value: Any) -> float | None:
    """Return a cell as a finite number, with 1 and 0 for yes and no, or None for another."""
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        known = _TRUTHS.get(value.strip().lower())
        if known is not None:
            return known
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def _distinct(rows: list[Row], place: Path, left_out: list[LeftOut], name: str) -> list[Row]:
    """Return the rows with the paths of their traces, without those that repeat another."""
    same: Counter[tuple[str, ...]] = Counter()
    kept: list[Row] = []

    def leave_out(row: Row, reason: str, what: str) -> None:
        detail = f"{visible(name)}: row {row.number}{what}"
        left_out.append(LeftOut(row.trace, row.config, reason, detail))

    for row in rows:
        path = Path(row.trace)
        path = path if path.is_absolute() else place / path
        own = (row.task, row.config, str(path), row.sample or "")
        name_of_repeat = (row.task, row.config, "repeat", row.repeat or "")
        same[own] += 1
        if same[own] > 1:
            leave_out(row, "repeated", ": the same trace of the same trial again")
            continue
        if row.repeat is not None and same[name_of_repeat]:
            of = f"{visible(row.task, 80)} under {visible(row.config, 60)}"
            leave_out(
                row,
                "repeated",
                f", repeat: {visible(row.repeat, 60)!r} is another repeat of {of} already",
            )
            continue
        same[name_of_repeat] += 1
        if not probe(path.exists):
            leave_out(row, "no_trace", f", trace: there is no {visible(row.trace, 200)}")
            continue
        kept.append(msgspec.structs.replace(row, trace=str(path)))
    return numbered(kept)


def numbered(rows: Iterable[Row]) -> list[Row]:
    """Return rows of which each has a repeat: its number among those of its task and config."""
    repeats: Counter[tuple[str, str]] = Counter()
    found = []
    for row in rows:
        repeats[row.task, row.config] += 1
        repeat = row.repeat or str(repeats[row.task, row.config])
        found.append(msgspec.structs.replace(row, repeat=repeat))
    return found


def _scales(rows: Sequence[Row]) -> Iterator[str]:
    """Yield what the values of a column look like, where that is another unit than its own."""
    rewards = [(row.reward, row.number) for row in rows if row.reward is not None]
    above = [(value, number) for value, number in rewards if value > 1]
    if above and all(0 <= value <= 100 for value, _ in rewards):
        yield (
            f"reward: {len(above)} of {counted(len(rewards), 'value')} lie above 1, such as "
            f"{above[0][0]:g} in row {above[0][1]}; shares are expected, so percentages are to be "
            "divided by 100"
        )
    times = [(row.elapsed_seconds, row.number) for row in rows if row.elapsed_seconds is not None]
    if times and median(value for value, _ in times) > _LONG:
        yield (
            f"elapsed_seconds: half of {counted(len(times), 'value')} lie above {_LONG:,}, such as "
            f"{max(times)[0]:g} in row {max(times)[1]}; seconds are expected, so milliseconds are "
            "to be divided by 1,000"
        )


# --------------------------------------------------------------------------------------------------
# A table of truth: what each task expects, as a benchmark publishes it.

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
        records = list(starmap(_Record, enumerate(_patches_in(given), 1)))
    else:
        records = _records(given)
    name = visible(given.name if isinstance(given, Path) else "truth")
    if not records:
        kinds = f"a table ({', '.join(SUFFIXES)}) or a folder of {' or '.join(_PATCH_SUFFIXES)}"
        raise BadInputError(f"{name}: states no task; a truth is {kinds}")
    names = list(dict.fromkeys(str(column) for record in records for column in record.cells))
    key = next((key for key in TASKS if key in names), None)
    stating = ("files", "edit_files", *_PATCHES, *_CONTEXTS)
    if key is None or not any(column in names for column in stating):
        raise BadInputError(
            f"{name}: a row of truth names its task ({', '.join(TASKS)}) and states "
            f"{', '.join(stating)}; the columns are {visible(', '.join(names[:20]), 300)}"
        )
    truths: dict[str, GroundTruth] = {}
    problems: list[str] = []
    for read in records:
        here, record = f"{name}: row {read.number}", read.cells
        if read.problem is not None:
            problems.append(f"{here}: {read.problem}, so it is left out")
            continue
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
    for other in _PATCHES:
        if not isinstance(record.get(other), str) and _text(record.get(other)) is not None:
            got = visible(str(record[other]), _SHOWN)
            problems.append(f"{here}, {other}: expected a unified diff, got {got}")
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
