"""The files of this project that are made from declarations in the package: ``make schemas``."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from tempfile import TemporaryDirectory

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
from tests.traps import Absent, Trap, traps_of

PROJECT = Path(__file__).resolve().parents[1]


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
    with TemporaryDirectory() as folder:
        path = Path(folder) / "example"
        path.write_bytes(example_bytes(entry))
        reading = read_file(path, Path(folder))
    dialect = dialect_of(reading.harness) if isinstance(reading, Reading) else None
    return dialect.source if dialect is not None else ""


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
