"""The files of this project that are made from declarations in the package: ``make schemas``."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import tests.traps
from retrieval_eval.agents.traces.dialects import dialect_of
from retrieval_eval.agents.traces.formats import (
    FORMATS,
    FileFormat,
    Format,
    LineFormat,
    StoreFormat,
    read_file,
)
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.model import PUBLISHED, json_schema
from tests.lab.drivers import UNPROVED
from tests.traps import Absent, Trap, traps_of

PROJECT = Path(__file__).resolve().parents[1]
RESULTS = PROJECT / "tests" / "lab" / "results.json"


def generated() -> dict[Path, str]:
    """Return every generated file with its text."""
    return {
        PROJECT / "schemas" / document.schema_file: json.dumps(
            json_schema(kind), indent=2, ensure_ascii=False
        )
        + "\n"
        for kind, document in PUBLISHED.items()
    }


def source_of(name: str) -> str:
    """Return what the reader of a format was written from."""
    entry = FORMATS[name]
    if entry.source:
        return entry.source
    dialect = dialect_of(_example_of(entry).harness)
    return dialect.source if dialect is not None else ""


def _example_of(entry: Format) -> Reading:
    """Return what is read from the example of a format."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "example"
        path.write_bytes(example_bytes(entry))
        reading = read_file(path, Path(folder))
    assert isinstance(reading, Reading)
    return reading


class Proof(NamedTuple):
    """What the lab found of one kind of trace that a harness writes.

    ``traces`` are what the lab keeps of the kind, ``run`` of the harness.
    """

    harness: str
    kind: str
    traces: Mapping[str, Any]
    run: Mapping[str, Any]


def lab_results() -> dict[str, Any]:
    """Return the results of the lab, by harness."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def proofs() -> dict[str, list[Proof]]:
    """Return what the lab found, by the name of the format; of some formats nothing."""
    found: dict[str, list[Proof]] = {}
    for harness, run in lab_results().items():
        for kind, traces in run.get("traces", {}).items():
            found.setdefault(_versionless(kind.split()[0]), []).append(
                Proof(harness, kind, traces, run)
            )
    return {
        name: [] if name in UNPROVED else found.get(_versionless(_example_of(entry).format), [])
        for name, entry in sorted(FORMATS.items())
    }


def _versionless(form: str) -> str:
    return re.sub(r"-[\d.]+$", "", form)


def example_bytes(entry: Format) -> bytes:
    """Return the example of a format as a file."""
    if isinstance(entry, FileFormat):
        return entry.example
    if isinstance(entry, StoreFormat):
        with TemporaryDirectory() as folder:
            return database(Path(folder) / "store.db", entry.example).read_bytes()
    values = entry.example if isinstance(entry, LineFormat) else [entry.example]
    return "\n".join(map(json.dumps, values)).encode()


def database(path: Path, script: str) -> Path:
    """Return the path of a database that a script makes."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path


def all_traps() -> dict[str, tuple[Trap, ...]]:
    """Return the traps of each dialect, by its name."""
    names = (found.name for found in iter_modules(tests.traps.__path__))
    return {
        name.replace("_", "-"): tuple(traps_of(import_module(f"tests.traps.{name}")))
        for name in sorted(names)
        if not name.startswith("test_")
    }


def absent_traps() -> dict[str, Absent]:
    """Return the situations that have no trap with the reason, by dialect."""
    return {
        name: getattr(import_module(f"tests.traps.{name.replace('-', '_')}"), "ABSENT", {})
        for name in all_traps()
    }


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(PROJECT))
