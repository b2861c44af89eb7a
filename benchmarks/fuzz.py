"""Feed damaged files to every reader, and to every command that reads what another one wrote.

    python benchmarks/fuzz.py --each 10000 --seed 1
    python benchmarks/fuzz.py --each 500 --only "search guard" --keep /tmp/faults

Readers have all cases: the functions with which commands read and check a file, without what is
then done with it. Whole commands, which draw, write and measure with what those let pass, have a
fiftieth, and are named as such.

Every input begins as a good file: the example of a trace format, a file of the demonstrations, or
a document that a command of this package wrote. Each case changes one of them, by its structure
(types, names, nesting, huge numbers, NaN, lone surrogates, names given twice, members that move)
or by its bytes (cut, torn, repeated, with a byte-order mark, NUL, in another encoding). The digest
of a document is made anew after most changes of structure; otherwise every case would end there.

A case is good if the public function returns or raises an error of this package, and if the
command ends with one of its exit codes but 70, in 10 seconds of CPU time and 3 GiB of memory. The
last lines name every fault by its place; with ``--keep`` the input of each is kept.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import faulthandler
import io
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat
import numpy as np

import retrieval_eval as rev
from retrieval_eval.agents.metrics.document import TrialMetrics
from retrieval_eval.agents.outcomes import load_outcome
from retrieval_eval.agents.runs.layout import (
    EVENTS_SUFFIX,
    IMPACT_FILE,
    METRICS_SUFFIX,
    SUMMARY_FILE,
)
from retrieval_eval.agents.runs.summary import RunSummary
from retrieval_eval.agents.runs.trial import Job, evaluate_trial, measure_saved
from retrieval_eval.agents.study.stated import kept_design, stated_from
from retrieval_eval.agents.study.stated import text_of as design_text
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, FileFormat, LineFormat
from retrieval_eval.demo import write_demo, write_search_demo
from retrieval_eval.errors import BadInputError, RetrievalEvalError
from retrieval_eval.escape import encodable
from retrieval_eval.io.artefacts import DIGEST, read_artefact, read_record, sealed, write_artefact
from retrieval_eval.io.files import decode, json_bytes
from retrieval_eval.io.user_files import read_project
from retrieval_eval.model import to_builtins
from retrieval_eval.model.events import EventDocument
from retrieval_eval.model.impact import ImpactAnalysis
from retrieval_eval.records import TrialRef
from retrieval_eval.report import load_search
from retrieval_eval.report.index import Listed, entry_of, write_index
from retrieval_eval.report.publishing import read_executed
from retrieval_eval.schema import faults, kind_of
from retrieval_eval.search.ask import (
    QueryResult,
    RetrieverError,
    ScoredDoc,
    read_documents,
)
from retrieval_eval.search.ask.retrievers.http import http_settings
from retrieval_eval.search.ask.retrievers.ranked_file import open_ranked_file
from retrieval_eval.search.claims import read_drafts, read_human_labels
from retrieval_eval.search.claims.http_judge import (
    NoVerdictError,
    http_judge_settings,
    read_verdict,
)
from retrieval_eval.search.decide.guard.files import write_pinned
from retrieval_eval.search.decide.guard.justification import read_justifications
from retrieval_eval.search.decide.noise import read_noise
from retrieval_eval.search.decide.thresholds import (
    read_thresholds,
    shipped_thresholds,
    toml_of,
)
from retrieval_eval.search.demo import JUDGE
from retrieval_eval.search.gold import field_map
from retrieval_eval.search.gold.bootstrap import feedback_settings, read_feedback
from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.search.gold.database import read_backlog
from retrieval_eval.search.gold.exchange import import_beir, import_trec
from retrieval_eval.search.gold.identity import read_pinned
from retrieval_eval.search.gold.labelling import build_pool, read_pool, write_pool
from retrieval_eval.search.gold.pseudonyms import read_listed
from retrieval_eval.search.gold.pseudonyms import read_mapping as pseudonyms_of
from retrieval_eval.search.gold.relabel import read_mapping as relabelled_from
from retrieval_eval.search.run.document import load_search_run
from retrieval_eval.search.run.running import open_journal
from retrieval_eval.serve.dashboard import Sources, dashboard, diagnostics, served
from tests.runs import write_task, write_trial

command_line = import_module("retrieval_eval.cli")

CPU_SECONDS = 10
WALL_SECONDS = 900
"""Of fifty cases, after which the process is ended, for one that never returns to Python."""

MEMORY = 3 << 30


# --------------------------------------------------------------------------------------------------
# Changes

_GIANT = "a" * 200_000
_DEPTHS = (50, 200, 400, 700, 900, 985)


def _nested(depth: int, end: Any, *, is_list: bool) -> Any:
    value = end
    for _ in range(depth):
        value = [value] if is_list else {"a": value}
    return value


_SIMPLE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 0.5, -0.0, 1e308, -1e308, 5e-324, 10**15, 2**53 + 1),
    *(2**63, -(2**63), 2**64, 10**400, float("nan"), float("inf"), float("-inf")),
    *("", " ", "0", "-1", "1e999", "nan", "true", "null", "\ud800", "\udfff\ud800", "\x00"),
    *("\x1b[2J\x1b]0;t\x07", "\u202egnp.exe", "\ufeff", "\u2028", "é", "e\u0301", "🏴"),
    *("/", "..", ".", "../../../../etc/passwd", "/etc/passwd", "~", "a/../b", "a//b", "C:\\a"),
    *("a\nb", "a\rb", "a,b", '"', "'", "`", "<script>", "=1+1", "{}", "[]", "%s", "{0}", "$HOME"),
    *("2026-01-05T10:00:00Z", "9999-12-31T23:59:59+14:00", "0001-01-01T00:00:00-23:59"),
    *("2026-02-30T00:00:00Z", "2026-01-05", "10000-01-01", "1e5", "1_000", "٣", "²", "∞"),
    *([], {}, [[]], [{}], {"": None}, [None], {"a": [1, {"b": "c"}]}, ["a", 1, None, {}]),
    *("sqlite:///x", "http://127.0.0.1:1/", "file:///etc/passwd", "a" * 300, "a/" * 2000),
)
_LONG = (_GIANT, "\u0301" * 20_000, "(" * 20_000, "/" * 50_000, " " * 100_000)
_OF_KIND = {
    kind: tuple(value for value in _SIMPLE if type(value) is kind)
    for kind in (bool, int, float, str, list, dict)
}


def _hostile(dice: random.Random) -> Any:
    """Return a value that no reader expects at any one place."""
    roll = dice.random()
    if roll < 0.88:
        return copy.deepcopy(dice.choice(_SIMPLE))
    if roll < 0.96:
        end = dice.choice((1, "a", None, {}))
        return _nested(dice.choice(_DEPTHS), end, is_list=dice.random() < 0.5)
    if roll < 0.98:
        return dice.choice(_LONG)
    large = dice.randrange(3)
    if large == 2:
        return {str(n): n for n in range(5_000)}
    return ["x"] * 5_000 if large else [0] * 20_000


def _alike(value: Any, dice: random.Random) -> Any:
    """Return a hostile value of the same kind, or any where there is none."""
    if type(value) not in _OF_KIND:
        return _hostile(dice)
    if isinstance(value, str) and dice.random() < 0.03:
        return dice.choice(_LONG)
    return copy.deepcopy(dice.choice(_OF_KIND[type(value)]))


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) of a JSON value, without entering what is too deep."""
    found: list[tuple[Any, Any]] = []
    rest = [value]
    while rest:
        item = rest.pop()
        pairs = item.items() if isinstance(item, dict) else enumerate(item)
        for key, inner in pairs:
            found.append((item, key))
            if isinstance(inner, dict | list):
                rest.append(inner)
    return found


def _change_value(value: Any, dice: random.Random) -> Any:
    """Change one place of a JSON value, in place where there is one."""
    places = _places(value) if isinstance(value, dict | list) else []
    if not places or dice.random() < 0.01:
        return _hostile(dice)
    parent, key = dice.choice(places)
    roll = dice.random()
    if roll < 0.4:
        parent[key] = _alike(parent[key], dice)
    elif roll < 0.55:
        parent[key] = _hostile(dice)
    elif roll < 0.6:
        del parent[key]
    elif roll < 0.7:
        other, place = dice.choice(places)
        with contextlib.suppress(KeyError, IndexError):
            parent[key] = copy.deepcopy(other[place])
    elif roll < 0.78 and isinstance(parent, dict):
        parent[str(_hostile(dice))[:50_000]] = parent.pop(key)
    elif roll < 0.86 and isinstance(parent, list):
        times = dice.choice((1, 2, 30))
        parent[key:key] = [copy.deepcopy(parent[key]) for _ in range(times)]
    elif isinstance(parent[key], int | float) and not isinstance(parent[key], bool):
        parent[key] = dice.choice((-1, 0, 2, 1e6, 1e18, -0.5, 10**30)) * (parent[key] or 1)
    elif isinstance(parent[key], str):
        text = parent[key]
        cut = dice.randrange(len(text) + 1)
        extra = _hostile(dice)
        parent[key] = text[:cut] + (extra if isinstance(extra, str) else str(extra)) + text[cut:]
    else:
        parent[key] = [parent[key]]
    return value


def _dumped(value: Any, dice: random.Random, indent: int | None = None) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=dice.random() < 0.5, indent=indent)
    except RecursionError:
        return b"[" * 5_000 + b"]" * 5_000
    if dice.random() < 0.06 and '": ' in text:
        name, _, rest = text.partition('": ')
        text = f'{name}": {json.dumps(None)}, {name.rpartition("{")[2]}": {rest}'
    return text.encode("utf-8", "surrogatepass" if dice.random() < 0.3 else "replace")


def _change_json(data: bytes, dice: random.Random, *, in_lines: bool = False) -> bytes:
    value = json.loads(data)
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        value = _change_value(value, dice)
    if isinstance(value, dict) and DIGEST in value and dice.random() < 0.9:
        with contextlib.suppress(ValueError, RecursionError):
            value = sealed({k: v for k, v in value.items() if k != DIGEST})
        if dice.random() < 0.2:
            value.pop(DIGEST, None)
    return _dumped(value, dice, None if in_lines else dice.choice((None, None, 1)))


def _change_lines(data: bytes, dice: random.Random) -> bytes:
    lines = data.splitlines()
    for _ in range(dice.choice((1, 1, 2, 3))):
        if not lines:
            break
        at = dice.randrange(len(lines))
        roll = dice.random()
        if roll < 0.75:
            lines[at] = (
                _change_json(lines[at], dice, in_lines=True) if _is_json(lines[at]) else b"{}"
            )
        elif roll < 0.85:
            lines[at:at] = [lines[dice.randrange(len(lines))]]
        elif roll < 0.93:
            del lines[at]
        else:
            other = dice.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
    return b"\n".join(lines) + b"\n"


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _change_text(data: bytes, dice: random.Random) -> bytes:
    """Change a line or one word of a text: TOML, YAML, CSV, TREC, Markdown."""
    lines = data.decode("utf-8", "replace").split("\n")
    for _ in range(dice.choice((1, 1, 2))):
        at = dice.randrange(len(lines))
        roll = dice.random()
        words = lines[at].split(" ")
        extra = _hostile(dice)
        word = extra if isinstance(extra, str) else json.dumps(extra)
        if roll < 0.5:
            words[dice.randrange(len(words))] = word if dice.random() < 0.5 else json.dumps(word)
            lines[at] = " ".join(words)
        elif roll < 0.6:
            lines.insert(at, lines[dice.randrange(len(lines))])
        elif roll < 0.7 and len(lines) > 1:
            del lines[at]
        elif roll < 0.8:
            head, sign, _ = lines[at].partition("=" if "=" in lines[at] else ":")
            lines[at] = f"{head}{sign} {word}"
        elif roll < 0.9:
            cut = dice.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:cut] + dice.choice(list('"[]{}=,:#\\\t|&*!')) + lines[at][cut:]
        else:
            lines[at] = lines[at].replace(dice.choice((",", "\t", " ", '"')), dice.choice("\t ,;"))
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def _change_bytes(data: bytes, dice: random.Random) -> bytes:
    at = dice.randrange(len(data) + 1)
    end = min(len(data), at + dice.choice((1, 4, 50, 1000)))
    roll = dice.randrange(16)
    text = data.decode("utf-8", "replace")
    return (
        lambda: data[:at],
        lambda: data[:at] + data[end:],
        lambda: data[:at] + dice.randbytes(end - at) + data[end:],
        lambda: data[:at] + data[at:end] * dice.choice((2, 50)) + data[end:],
        lambda: data[:at] + b"\x00" + data[at:],
        lambda: b"\xef\xbb\xbf" + data,
        lambda: data[:at] + b"\xef\xbb\xbf" + data[at:],
        lambda: text.encode("utf-16"),
        lambda: text.encode("latin-1", "replace"),
        lambda: data[:at] + b"\xff\xfe\xc0\x80" + data[at:],
        lambda: data.replace(b"\n", b"\r\n"),
        lambda: data.replace(b"\n", b"\r"),
        lambda: data + data,
        lambda: dice.choice((b"", b"\n", b"\x00" * 100, b"[" * 100_000, b'{"a":' * 100_000)),
        lambda: data[:at] + bytes([dice.randrange(256)]) + data[at + 1 :],
        lambda: (
            data[:at] + dice.choice((b"NaN", b"1e999", b"-", b"9" * 5_000, b"\\ud800")) + data[end:]
        ),
    )[roll]()


_TABLES = "select name from sqlite_master where type='table' and name not like 'sqlite_%'"
_ENDLESS = "with recursive c(x) as (select 1 union all select x + 1 from c) select * from c"


def _change_database(data: bytes, dice: random.Random) -> bytes:
    """Change a value, a name or a table of an SQLite database."""
    with tempfile.NamedTemporaryFile(suffix=".db") as file:
        Path(file.name).write_bytes(data)
        with contextlib.closing(sqlite3.connect(file.name)) as connection:
            table = dice.choice([name for (name,) in connection.execute(_TABLES)])
            names = [row[1] for row in connection.execute(f'pragma table_info("{table}")')]
            column = dice.choice(names)
            rows = [row for (row,) in connection.execute(f'select rowid from "{table}" limit 50')]
            where = f"where rowid={dice.choice(rows or [0])}"
            old = connection.execute(f'select "{column}" from "{table}" {where}').fetchone()
            value = _cell(_hostile(dice), dice)
            if old and isinstance(old[0], str) and _is_json(old[0].encode()):
                value = _change_json(old[0].encode(), dice).decode("utf-8", "replace")
            statement = dice.choice(
                [f'update "{table}" set "{column}"=? {where}'] * 6
                + [f'update "{table}" set "{column}"=?'] * 2
                + [f'alter table "{table}" rename column "{column}" to "zz"']
                + [f'alter table "{table}" rename to "zz"', f'delete from "{table}"']
                + [f'create view "{table}" as {_ENDLESS}']
            )
            with contextlib.suppress(sqlite3.Error):
                if statement.startswith("create"):
                    connection.execute(f'drop table "{table}"')
                connection.execute(statement, (value,) if "?" in statement else ())
            connection.commit()
        return Path(file.name).read_bytes()


def _cell(value: Any, dice: random.Random) -> Any:
    if isinstance(value, dict | list):
        return _dumped(value, dice)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass") if dice.random() < 0.3 else encodable(value)
    is_large = isinstance(value, int) and not -(2**63) <= value < 2**63
    return str(value) if is_large else value


def _change_archive(data: bytes, dice: random.Random) -> bytes:
    """Change one member of a zip archive, or its name."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(made, "w") as new,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        names = old.namelist()
        chosen = dice.choice(names)
        for name in names:
            content = old.read(name)
            if name == chosen:
                content = changed(content, name, dice)
                if dice.random() < 0.1:
                    name = dice.choice(("../x", "/x", "x" * 300, name + "/", "a\x00"))
            if name != chosen or dice.random() > 0.05:
                new.writestr(name, content)
    return made.getvalue()


def _change_arrays(data: bytes, dice: random.Random) -> bytes:
    with np.load(io.BytesIO(data)) as loaded:
        arrays = dict(loaded)
    name = dice.choice(list(arrays))
    roll = dice.randrange(8)
    array = arrays[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if roll == 0:
            del arrays[name]
        elif roll == 1:
            arrays[name] = array[:-1]
        elif roll == 2:
            arrays[name] = np.array([_hostile(dice), "x"], dtype=object)
        elif roll == 3:
            arrays[name] = array.astype(dice.choice(("S3", "U3", "?", "i1", "f2", "c16")))
        elif roll == 4:
            arrays[name] = array.reshape((*array.shape, 1))
        elif roll == 5 and array.dtype.kind == "f":
            arrays[name] = array * dice.choice((np.nan, np.inf, 0.0, 1e38))
        elif roll == 6:
            arrays[name] = np.array(5)
        else:
            arrays[name] = array[:0]
        made = io.BytesIO()
        np.savez(made, **arrays)
    return made.getvalue()


_TEXTS = (
    ".toml",
    ".yml",
    ".yaml",
    ".md",
    ".csv",
    ".tsv",
    ".trec",
    ".qrels",
    ".patch",
    ".sh",
    ".html",
)


def changed(data: bytes, name: str, dice: random.Random) -> bytes:
    """Return a damaged copy of the content of a file with this name."""
    if dice.random() < 0.2:
        return _change_bytes(data, dice)
    try:
        if data.startswith(b"SQLite format 3"):
            return _change_database(data, dice)
        if data.startswith(b"PK"):
            return (_change_arrays if name.endswith(".npz") else _change_archive)(data, dice)
        if Path(name).suffix in _TEXTS:
            return _change_text(data, dice)
        if _is_json(data):
            return _change_json(data, dice)
        if _is_json(data.split(b"\n")[0]):
            return _change_lines(data, dice)
        return _change_text(data, dice)
    except Exception:  # noqa: BLE001  the changed value has no form in such a file
        return _change_bytes(data, dice)


# --------------------------------------------------------------------------------------------------
# Targets


@dataclass(frozen=True)
class Target:
    """A reader, and the files it reads that are damaged in turn."""

    name: str
    files: Sequence[str]
    call: Callable[[], object]
    share: float = 1.0
    """Part of the wanted cases; whole commands, whose readers have all, have few."""
    makes: Sequence[str] = ()
    """Files that the call writes and would not overwrite."""


def command(*lines: str, is_good: bool = False) -> Callable[[], None]:
    """Return a call of command lines, in the folder that the process is in."""

    def called() -> None:
        for line in lines:
            said = io.StringIO()
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
                code = command_line.run(line.split())
            if code == 64 or (code == 3 and is_good):
                raise AssertionError(f"the harness uses {line!r} wrongly: {said.getvalue()}")
            if code == 3:
                raise RetrievalEvalError(f"{line}: {said.getvalue()}")

    return called


def whole(
    line: str, files: Sequence[str], *lines: str, share: float = 0.02, makes: Sequence[str] = ()
) -> Target:
    """Return a target of whole commands, named by the first words; their readers are others."""
    return Target(f"command: {line}", files, command(*lines), share, makes)


def do(*lines: str) -> None:
    """Run command lines that must succeed, to write good files."""
    command(*lines, is_good=True)()


def files_below(folder: str) -> list[str]:
    return [str(path) for path in sorted(Path(folder).rglob("*")) if path.is_file()]


def targets() -> list[Target]:
    """Write every good file into the present folder and return what reads them."""
    write_demo(Path("demo"))
    write_search_demo(Path("whole"))
    found = [*_traces(), *_trials(), *_gold(), *_searches(), *_pages(), *_answers()]
    shutil.rmtree("whole")
    return found


def _traces() -> Iterator[Target]:
    for name, entry in FORMATS.items():
        place = Path("traces") / name
        place.mkdir(parents=True)
        if isinstance(entry, DocumentFormat):
            file, data = place / "trajectory.json", json.dumps(entry.example).encode()
        elif isinstance(entry, LineFormat):
            file, data = (
                place / "t.jsonl",
                b"\n".join(json.dumps(e).encode() for e in entry.example),
            )
        elif isinstance(entry, FileFormat):
            file, data = place / "t.bin", entry.example
        else:
            file = place / "t.db"
            with contextlib.closing(sqlite3.connect(file)) as connection:
                connection.executescript(entry.example)
            data = file.read_bytes()
        file.write_bytes(data)
        yield Target(f"trace: {name}", [str(file)], partial(_measured, file))


def _measured(file: Path) -> None:
    truth = rev.load_ground_truth(None)
    rev.measure(rev.extract_events(rev.read_trace(file), truth))


def _shortened(value: Any) -> Any:
    """Return a document with two of many alike members, which are read by the same code."""
    if isinstance(value, list):
        return [_shortened(item) for item in value[:2]]
    if not isinstance(value, dict):
        return value
    names = list(value)
    kinds = {tuple(item) if isinstance(item, dict) else None for item in value.values()}
    if len(kinds) == 1 and kinds != {None}:
        names = names[:2]
    return {name: _shortened(value[name]) for name in names}


def _short(path: Path, name: str) -> str:
    """Write a document with fewer members as ``name``, and return that."""
    document = json.loads(path.read_bytes())
    document.pop(DIGEST, None)
    Path(name).write_bytes(json_bytes(sealed(_shortened(document))))
    return name


def _trials() -> Iterator[Target]:
    tasks = sorted(Path("demo/benchmarks").glob("*/*"))
    for file in (
        *("tests/ground_truth.json", "tests/expected_defects.json", "tests/expected_changes.json"),
        *("tests/reference_fix.patch", "solution/solve.sh", "task.toml", "instruction.md"),
    ):
        own = [task for task in tasks if (task / file).is_file()][:3]
        if own:
            names = [str(task / file) for task in own]
            yield Target(f"ground truth: {Path(file).name}", names, partial(_expected, own))
    trial = next(path.parent for path in sorted(Path("demo").rglob("result.json")))
    names = [str(trial / n) for n in ("result.json", "task_metrics.json") if (trial / n).exists()]
    yield Target("outcome", names, lambda: json_bytes(to_builtins(load_outcome(trial))))

    # One task in two configurations, evaluated: the inputs and the documents of a run.
    run = Path("runs/small")
    write_task(Path("benchmarks"), "task-1", ["src/a.py", "lib/b.py"])
    for config in ("baseline-local-direct", "mcp-remote-direct"):
        write_trial(run, config, "task-1", ["src/a.py", "x.py"])
    task = "benchmarks/suite_a/task-1/tests/ground_truth.json"
    inputs = [*files_below("runs"), task]
    roots = "--benchmarks-root benchmarks"
    do(f"evaluate small {roots} --jobs 1")
    place = run / "retrieval_events"
    found = next(run.rglob("result.json")).parent
    one = TrialRef(
        "small", found.parent.name, None, found.name, found, "task-1", "suite_a",
        task_dir=Path("benchmarks/suite_a/task-1"),
    )  # fmt: skip
    own = [name for name in inputs if name == task or Path(name).is_relative_to(found)]
    job = Job(one, None, "a", (1, 5))
    yield Target("evaluate_trial: files of a trial", own, lambda: evaluate_trial(job))
    own = [name for name in files_below(str(place)) if name.endswith(".json")]
    kinds = {
        name: EventDocument if name.endswith(EVENTS_SUFFIX)
        else TrialMetrics if name.endswith(METRICS_SUFFIX)
        else RunSummary if name.endswith(SUMMARY_FILE) else ImpactAnalysis
        for name in own
    }  # fmt: skip
    for kind in dict.fromkeys(kinds.values()):
        example = next(name for name in own if kinds[name] is kind)
        name = _short(Path(example), f"short.{Path(example).name}")
        read = partial(_document, Path(name), kind)
        yield Target(f"document: {kind.__name__}", [name], read)
        checked = partial(_validated, Path(name))
        yield Target(f"validate: {kind.__name__}", [name], checked)
    impact = read_record(place / IMPACT_FILE, place, ImpactAnalysis)
    text = design_text(kept_design(impact))
    Path("design.json").write_text(text, encoding="utf-8")
    yield Target("design as text", ["design.json"], lambda: stated_from(_text("design.json")))
    text = (
        'alpha = 0.1\n\n[arms.mcp-remote-direct]\nmust_use = ["mcp"]\n\n'
        "[reward_scale]\nsuite = [0, 10]\n"
    )
    Path("study.toml").write_text(text, encoding="utf-8")
    yield Target("design", ["study.toml"], lambda: stated_from(Path("study.toml")))
    # Under another name, so that no command here takes it for its own.
    stated = (
        'data = "eval"\njobs = 2\n\n[backlog]\nsource = "queue.jsonl"\n\n[study]\nalpha = 0.1\n'
    )
    Path("project.toml").write_text(stated, encoding="utf-8")
    yield Target("project file", ["project.toml"], lambda: read_project(Path("project.toml")))

    again = f"evaluate small {roots} --jobs 1"
    saved = "evaluate --from-events runs/small/retrieval_events --output-dir out"
    trials = [name for name in own if kinds[name] in (EventDocument, TrialMetrics)]
    yield whole("evaluate, files of trials", inputs, again)
    yield whole("evaluate, own documents", own, again)
    yield whole("evaluate --from-events", trials, saved)
    yield whole("validate", own, *(f"validate {name}" for name in own))
    pair = f"compare baseline-local-direct mcp-remote-direct --run small {roots}"
    yield whole("compare --design", ["study.toml"], f"{pair} --design study.toml")
    yield whole("trace", inputs, f"trace {found}")
    yield Target("load_run, its frames", own, _frames, 0.02)


def _document(path: Path, kind: type[Any]) -> None:
    found = read_record(path, path.parent, kind)
    if isinstance(found, EventDocument):
        measure_saved(found, (1, 5))
    json_bytes(to_builtins(found))


def _validated(path: Path) -> None:
    document = read_artefact(path, path.parent)
    if document.problem is not None:
        raise BadInputError(document.problem)
    kind = kind_of(document.value)
    if kind is not None and (wrong := faults(document.value, kind)):
        raise BadInputError(str(wrong[0]))


def _expected(tasks: Sequence[Path]) -> None:
    for task in tasks:
        rev.load_ground_truth(task)


def _frames() -> None:
    run = rev.load_run("small", runs_root="runs", benchmarks_root="benchmarks")
    for name in ("trials", "events", "pairs"):
        getattr(run, name)


GOLD, CORPUS = "--gold gold.jsonl", "--corpus-file corpus.jsonl"
ASKED = f"search run --retriever bm25:corpus.jsonl {GOLD} {CORPUS} --fresh"
WHY = """[[justification]]
metrics = { "P@5" = 50.0, "nDCG@10" = 90.0 }
reason = "a new corpus"
author = "@ann"
second_approver = "@bob"
expires = 2030-01-31
"""
ENTITIES = """[[entity]]
kind = "person"
name = "Ada Example"
aliases = ["A. Example"]
[identifier]
case = "[0-9]{3}-[0-9]{2}"
"""


def _lines(file: str, rows: Iterable[Any]) -> None:
    Path(file).write_text("".join(json.dumps(row) + "\n" for row in rows))


def _rows(file: str) -> list[Any]:
    return [json.loads(line) for line in Path(file).read_bytes().splitlines()]


def _small_collection() -> None:
    """Write six queries of the demonstration, their documents, drafts and feedback."""
    rows = _rows("whole/gold-set.jsonl")[:6]
    drafts = [
        row for row in _rows("whole/drafts.jsonl") if row["id"] in {query["id"] for query in rows}
    ][:4]
    texts = _rows("whole/corpus.jsonl")
    wanted = {doc for row in rows for doc in row["relevant"]}
    wanted |= {doc for row in drafts for doc in row["context"]}
    _lines("gold.jsonl", rows)
    _lines("drafts.jsonl", drafts)
    _lines("corpus.jsonl", [text for text in texts if text["id"] in wanted] + texts[-4:])
    with contextlib.closing(sqlite3.connect("whole/feedback.sqlite")) as connection:
        for (table,) in connection.execute(_TABLES).fetchall():
            connection.execute(f'delete from "{table}" where rowid > 12')
        connection.commit()
        connection.execute("vacuum into 'feedback.db'")


def _gold() -> Iterator[Target]:
    _small_collection()
    gold, texts = rev.load_gold_set("gold.jsonl"), read_corpus(Path("corpus.jsonl"))
    yield Target("load_gold_set", ["gold.jsonl"], lambda: rev.load_gold_set("gold.jsonl"))
    Path("gold.toml").write_text(
        'names = "standard"\n[bootstrap.tables]\nsearch_logs = "search_logs"\n'
        '[bootstrap.columns]\nquery = "query"\n[bootstrap.scores]\n3 = 2\n2 = 1\n'
    )
    own = Path("gold.jsonl")
    yield Target("gold.toml", ["gold.toml"], lambda: (feedback_settings(own), field_map(own)))
    fed = "sqlite:///feedback.db"
    yield Target("feedback in a database", ["feedback.db"], lambda: read_feedback(fed))
    yield Target("backlog in a database", ["feedback.db"], lambda: read_backlog(fed))
    states = ("pending_review", "approved")
    _lines("queue.jsonl", ({"review_status": s, "created_at": "2026-01-05"} for s in states))
    yield Target("backlog in lines", ["queue.jsonl"], lambda: read_backlog("queue.jsonl"))
    yield Target("corpus", ["corpus.jsonl"], lambda: read_corpus(Path("corpus.jsonl")))
    both = ["gold.jsonl", "corpus.jsonl"]
    found = [{gold.queries[0].id: [document.id for document in texts.documents[:3]]}]
    write_pool(build_pool(gold, found, texts, ["ana"]), Path("sheets"))
    key = Path("sheets/key.json")
    for sheet in ("sheets/sheet-ana.jsonl", "sheets/sheet-ana.csv"):
        read = partial(read_pool, gold, [Path(sheet)], key)
        files = [sheet, str(key)]
        yield Target(f"sheet: {Path(sheet).suffix}, and its key", files, read)
    Path("entities.toml").write_text(ENTITIES)
    hide = f"gold pseudonymize {GOLD} {CORPUS} --entities entities.toml --mapping names.json"
    do(f"{hide} --out hidden")
    listed = partial(read_listed, Path("entities.toml"))
    yield Target("pseudonyms: entities", ["entities.toml"], listed)
    names = partial(pseudonyms_of, Path("names.json"))
    yield Target("pseudonyms: mapping", ["names.json"], names)
    moved = f"gold relabel {GOLD} --old-corpus corpus.jsonl --new-corpus corpus.jsonl --out"
    do(f"{moved} moved")
    mapping = partial(relabelled_from, Path("moved/relabel.json"), gold)
    yield Target("relabel: mapping", ["moved/relabel.json"], mapping)
    do(f"gold export --to beir beir {GOLD} {CORPUS}", f"gold export --to trec trec {GOLD}")
    beir = partial(import_beir, Path("beir"))
    yield Target("BEIR", files_below("beir"), beir)
    qrels = next(name for name in files_below("trec") if "qrels" in name)
    topics = next(name for name in files_below("trec") if "qrels" not in name)
    trec = partial(import_trec, Path(qrels), Path(topics))
    yield Target("TREC: qrels, topics", [qrels, topics], trec)
    ranked = [(query, doc, 9 - n) for query in gold.queries for n, doc in enumerate(query.relevant)]
    rows = (f"{query.id} Q0 {doc} {10 - score} {score}.5 x\n" for query, doc, score in ranked)
    Path("run.trec").write_text("".join(rows))
    lines = {query.id: list[Any]() for query, _, _ in ranked}
    for query, doc, score in ranked:
        lines[query.id].append({"id": doc, "score": score})
    _lines("ranked.jsonl", ({"id": name, "ranking": docs} for name, docs in lines.items()))
    evaluated = partial(rev.evaluate_rankings, qrels, "run.trec", ["P@5", "nDCG@10"])
    yield Target("evaluate_rankings: TREC", ["run.trec", qrels], evaluated)
    for name in ("run.trec", "ranked.jsonl"):
        opened = partial(open_ranked_file, Path(name), {})
        yield Target(f"retriever run: {name}", [name], opened)
    yield whole("validate, gold set", both, f"validate gold.jsonl {CORPUS}")
    line = f"gold bootstrap {GOLD} --database {fed} --dry-run"
    yield whole("gold bootstrap", ["feedback.db", "gold.toml"], line)
    lines_of = ("gold backlog --backlog queue.jsonl", f"gold backlog --backlog {fed}")
    yield whole("gold backlog", ["queue.jsonl", "feedback.db"], *lines_of)
    line = f"gold settle sheets/sheet-ana.csv --key {key} {GOLD}"
    yield whole("gold settle", ["sheets/sheet-ana.csv", str(key)], line)
    named = ["entities.toml", "names.json", "gold.jsonl"]
    yield whole("gold pseudonymize", named, f"{hide} --out hidden")
    yield whole("gold relabel", both, f"{moved} again")
    line = "gold import beir --from beir --gold new.jsonl --corpus-file texts.jsonl"
    yield whole("gold import", files_below("beir"), line, makes=("new.jsonl", "texts.jsonl"))
    for name in ("run.trec", "ranked.jsonl"):
        line = f"search run --retriever run:{name} {GOLD} --out other --fresh"
        yield whole(f"search run, retriever run:{name}", [name], line)


def _searches() -> Iterator[Target]:
    for name, more in (("a", ""), ("b", "--option k1=2.0 --baseline a.json")):
        do(f"{ASKED} --out data --label {name} {more}")
        next(Path("data").glob("eval-report-*.json")).rename(f"{name}.json")
    judged = f"search claims b.json --drafts drafts.jsonl {GOLD} {CORPUS} --judge {JUDGE} --out"
    do(
        f"{judged} c.json",
        f"search noise --retriever bm25:corpus.jsonl {GOLD} {CORPUS} --repeats 2 --out noise.json",
    )
    Path("guard.toml").write_text(toml_of(shipped_thresholds()))
    Path("why.toml").write_text(WHY)
    write_pinned(Path("pinned.txt"), Path("gold.jsonl"), size=3)
    mapping = "moved/relabel.json"
    past = Path("past")
    past.mkdir()
    for number, name in enumerate("abc"):
        shutil.copy(f"{name}.json", past / f"eval-report-2026010{number + 1}T000000Z.json")
    shutil.copy("noise.json", past / "noise-2026q1.json")
    # Of two queries and two metrics, so that all kinds of members are there in a small file.
    _lines("two.jsonl", _rows("gold.jsonl")[:2])
    two = f"{ASKED.replace(GOLD, '--gold two.jsonl')} --k 1,5 --out small"
    for name, more in (("x", ""), ("y", "--option k1=2.0 --baseline x.json")):
        do(f"{two} --label {name} {more}")
        next(Path("small").glob("eval-report-*.json")).rename(f"{name}.json")
    wanted = {row["id"] for row in _rows("two.jsonl")}
    _lines("two-drafts.jsonl", [row for row in _rows("drafts.jsonl") if row["id"] in wanted])
    line = judged.replace(GOLD, "--gold two.jsonl").replace("drafts.jsonl", "two-drafts.jsonl")
    do(f"{line.replace('b.json', 'x.json')} z.json")
    for source, what in (("y.json", "with a baseline"), ("z.json", "with claims")):
        name = _short(Path(source), f"short.{source}")
        read = partial(load_search_run, Path(name))
        yield Target(f"search run, {what}", [name], read)
    texts = read_corpus(Path("corpus.jsonl"))
    label = {"claim": "It holds.", "block": texts.documents[0].id, "supported": True}
    _lines("labels.jsonl", [label, {**label, "block": "a text", "supported": False}])
    for name, file, reader in (
        ("noise", _short(Path("noise.json"), "short.noise.json"), read_noise),
        ("thresholds", "guard.toml", read_thresholds),
        ("justifications", "why.toml", read_justifications),
        ("pinned queries", "pinned.txt", read_pinned),
        ("drafts", "drafts.jsonl", read_drafts),
        ("labels of people", "labels.jsonl", partial(read_human_labels, corpus=texts)),
    ):
        yield Target(name, [file], partial(reader, Path(file)))

    runs = ["a.json", "b.json"]
    guard = f"search guard b.json --baseline a.json --thresholds guard.toml {GOLD}"
    beside = ["guard.toml", "why.toml", "pinned.txt", "noise.json"]
    options = "--justification why.toml --noise noise.json"
    ruled = f"{guard} {options} --queries pinned.txt --comment out.md"
    next_ones = f"gold pool --run a.json --run b.json {GOLD} --out next {CORPUS} --labellers ana"
    update = "search baseline --update b.json --baseline a.json --accept gold_set"
    difference = f"search diff a.json b.json --out d.md {GOLD} --old-gold gold.jsonl"
    for name, files, line in (
        ("search run, gold and corpus", ["gold.jsonl", "corpus.jsonl"], f"{ASKED} --out data"),
        ("search guard, runs", runs, ruled),
        ("search guard, files beside", beside, ruled),
        ("search guard, claims", ["c.json"], f"{guard.replace('b.json', 'c.json')} --json"),
        ("search baseline", runs, update),
        ("search diff", runs, difference),
        ("search show", ["b.json"], "search show b.json"),
        ("gold pool, by gain", runs, f"{next_ones} --by-gain 9"),
        ("search claims", ["drafts.jsonl"], f"{judged} d.json"),
        ("search diff, labels moved", [mapping, "a.json"], f"{difference} --mapping {mapping}"),
        ("search history", files_below("past"), "search history past"),
    ):
        yield whole(name, files, line)
    yield Target("load_search, its frames", [*runs, "noise.json"], _search_frames, 0.02)
    yield Target("load_history", files_below("past"), lambda: rev.load_history("past"), 0.02)
    yield Target("serve: dashboard, diagnostics", files_below("past"), _served, 0.02)


def _search_frames() -> None:
    found = load_search("b.json", baseline="a.json", gold="gold.jsonl", noise="noise.json")
    for name in ("queries", "metrics"):
        getattr(found, name, None)


def _served() -> None:
    sources = Sources(data=Path("past"), reports=Path("reports"))
    for answer in (dashboard(sources), diagnostics(sources)):
        json_bytes(served(answer, sources))


def _pages() -> Iterator[Target]:
    place = Path("reports/one")
    place.mkdir(parents=True)
    page = place / "index.html"
    page.write_text("<!doctype html><title>x</title>")
    entry = entry_of("", "run_report", "One", Listed(Path("reports")), simulated=False)
    write_artefact(place / "report.json", entry)
    listed = partial(write_index, Path("reports"))
    files = [str(page), str(place / "report.json")]
    yield Target("index of reports", files, listed)
    yield whole("report --index", files, "report --index --reports-dir reports")
    v4: Any = nbformat.v4
    source = "import retrieval_eval as rev\nalpha: float = 0.05"
    cell = v4.new_code_cell(source, metadata={"tags": ["parameters"]}, execution_count=1)
    cell.outputs = [v4.new_output("stream", text="hello\n")]
    book = v4.new_notebook(cells=[v4.new_markdown_cell("# Title"), cell])
    Path("own.ipynb").write_text(json.dumps(book))
    yield Target("notebook", ["own.ipynb"], lambda: read_executed(Path("own.ipynb")))
    yield whole("report NOTEBOOK", ["own.ipynb"], "report own.ipynb --renderer embedded")


def _answers() -> Iterator[Target]:
    """What services answer, what a stopped run left, and options that are templates."""
    docs = [{"id": "a", "score": 1.5, "text": "x"}, {"id": "b", "score": 1.0}]
    Path("answer.json").write_text(json.dumps(docs))
    yield Target("retriever: documents", ["answer.json"], _answered)
    Path("verdict.txt").write_text('```json\n{"supported": true, "quote": "x", "score": 0.5}\n```')
    yield Target("judge: verdict", ["verdict.txt"], _judged)
    search = {"body": '{"q": "{query}", "n": "{k}"}', "results": "data.hits[*]", "doc": "id"}
    search |= {"require": "ok=true", "read_timeout": "3", "header.X": "y"}
    Path("http.json").write_text(json.dumps(search))
    judge = {"shape": "openai", "base_url": "http://127.0.0.1:1/v1", "model": "m"}
    Path("judge.json").write_text(json.dumps(judge | {"timeout": "3", "body.top_p": "1"}))
    asked = partial(http_settings, "http://127.0.0.1:1/")
    yield Target("http: options, templates", ["http.json"], partial(_set, "http.json", asked))
    judge_set = partial(_set, "judge.json", http_judge_settings)
    yield Target("http judge: options", ["judge.json"], judge_set)
    known = {"retriever": "x", "depth": 5}
    journal, _, _ = open_journal(Path("journal.jsonl"), known)
    for name in "abc":
        journal.record(QueryResult(id=name, status="ok", ranking=(ScoredDoc("a", 1.0),)))
    resumed = partial(open_journal, Path("journal.jsonl"), known)
    yield Target("search run: journal", ["journal.jsonl"], resumed)


def _text(file: str) -> str:
    return Path(file).read_bytes().decode("utf-8", "replace")


def _answered() -> None:
    value, problem = decode(_text("answer.json"))
    if problem is None:
        with contextlib.suppress(RetrieverError):
            read_documents(value, {"a", "b"})


def _judged() -> None:
    with contextlib.suppress(NoVerdictError):
        read_verdict(_text("verdict.txt"))


def _set(file: str, read: Callable[[dict[str, str]], object]) -> None:
    value, _ = decode(_text(file))
    # The command line passes on what the system encodes only.
    words = (
        {str(name): str(text) for name, text in value.items()} if isinstance(value, dict) else {}
    )
    if words and json.dumps(words, ensure_ascii=False).isascii():
        read(words)


# --------------------------------------------------------------------------------------------------
# Running


class Hang(BaseException):
    """A case took more than its CPU time."""


@dataclass
class Tally:
    """What became of the cases of one target."""

    cases: int = 0
    returned: int = 0
    refused: int = 0
    raw: int = 0
    hangs: int = 0
    slowest: float = 0.0
    peak: float = 0.0
    faults: Counter[str] = field(default_factory=Counter)


def _alarm(*_: object) -> None:
    raise Hang


def _raise(error: BaseException) -> str:
    raise error


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        f
        for f in frames
        if "/retrieval_eval/" in f.filename and "/cli/__init__.py" not in f.filename
    ]
    where = own[-1] if own else frames[-1]
    text = str(error).replace("\n", " ")[:90]
    name = where.filename.rpartition("/retrieval_eval/")[2]
    return f"{type(error).__name__}: {text} at {name}:{where.lineno} ({where.name})"


def _run(
    target: Target, scene: Path, each: int, seed: int, keep: Path | None, *, show: bool
) -> Tally:
    dice = random.Random(f"{seed} {target.name}")
    good = {name: (scene / name).read_bytes() for name in target.files}
    tally = Tally()
    command_line.unexpected = _raise  # type: ignore[attr-defined]
    warnings.simplefilter("error", RuntimeWarning)
    signal.signal(signal.SIGVTALRM, _alarm)
    os.chdir(scene)
    target.call()
    for number in range(max(1, round(each * target.share))):
        for name, data in good.items():
            path = scene / name
            if not path.is_file() or path.read_bytes() != data:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        for name in target.makes:
            (scene / name).unlink(missing_ok=True)
        name = dice.choice(list(good))
        data = changed(good[name], name, dice)
        (scene / name).write_bytes(data)
        started = time.process_time()
        if number % 50 == 0:
            faulthandler.dump_traceback_later(WALL_SECONDS, exit=True)
        signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS)
        fault = None
        try:
            target.call()
            tally.returned += 1
        except RetrievalEvalError as error:
            tally.refused += 1
            if show:
                print(f"    {name}: {str(error)[:300]}", file=sys.stderr)
        except Hang as error:
            tally.hangs += 1
            fault = _place(error)
        except (Exception, SystemExit) as error:  # noqa: BLE001  this is what is looked for
            tally.raw += 1
            fault = _place(error)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        tally.cases += 1
        tally.slowest = max(tally.slowest, time.process_time() - started)
        if fault is not None:
            if fault not in tally.faults and keep is not None:
                keep.mkdir(parents=True, exist_ok=True)
                stem = f"{target.name}-{number}".replace("/", "_").replace(" ", "_")
                (keep / f"{stem}--{Path(name).name}").write_bytes(data)
            tally.faults[fault] += 1
    tally.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return tally


def _in_child(
    target: Target, scene: Path, each: int, seed: int, keep: Path | None, *, show: bool
) -> Tally:
    """Run a target in a process and a folder of its own, so that it cannot harm the others."""
    with tempfile.TemporaryDirectory(dir=scene.parent) as place:
        own = Path(place) / "scene"
        shutil.copytree(scene, own, symlinks=True)
        answer = Path(place) / "tally.json"
        child = os.fork()
        if child == 0:
            code = 1
            try:
                tempfile.tempdir = place
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
                answer.write_text(json.dumps(vars(_run(target, own, each, seed, keep, show=show))))
                code = 0
            except BaseException:  # noqa: BLE001  shown, and the parent goes on
                traceback.print_exc()
            os._exit(code)
        _, status = os.waitpid(child, 0)
        if status != 0:
            return Tally(raw=1, faults=Counter({f"the process ended with {status}": 1}))
        said = json.loads(answer.read_text())
        return Tally(**{**said, "faults": Counter(said["faults"])})


def main(words: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--each", type=int, default=10_000, help="cases of a target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", action="append", help="targets whose name holds this text")
    parser.add_argument("--keep", type=Path, help="folder for the inputs of faults")
    parser.add_argument("--show", action="store_true", help="print every refusal")
    given = parser.parse_args(None if words is None else list(words))
    keep = given.keep.resolve() if given.keep else None
    base = "/dev/shm" if Path("/dev/shm").is_dir() else None
    total = Counter[str]()
    with tempfile.TemporaryDirectory(dir=base) as folder:
        scene = Path(folder) / "scene"
        scene.mkdir()
        os.chdir(scene)
        chosen = [t for t in targets() if any(text in t.name for text in given.only or [""])]
        os.chdir(folder)
        print("| input | cases | read | refused | raw exceptions | hangs | slowest, s | peak, MB |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
        for target in chosen:
            t = _in_child(target, scene, given.each, given.seed, keep, show=given.show)
            row = (t.cases, t.returned, t.refused, t.raw, t.hangs)
            numbers = " | ".join(f"{n:,}" for n in row)
            print(f"| {target.name} | {numbers} | {t.slowest:.2f} | {t.peak:.0f} |", flush=True)
            for fault, n in t.faults.most_common():
                print(f"    {n} × {fault}", file=sys.stderr, flush=True)
            total.update(cases=t.cases, faults=t.raw + t.hangs)
    print(f"\n{total['cases']:,} cases, {total['faults']:,} faults, seed {given.seed}")
    return 1 if total["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
