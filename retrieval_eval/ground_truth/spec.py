"""Declared oracles: a task's specification and the required files of its task.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retrieval_eval.ground_truth import shapes
from retrieval_eval.ground_truth.source import RawSymbol, Source, load_json, table

_SYMBOL_KEYS = ("required_symbols", "symbols", "items")
_FILE_KEYS = ("required_files", "files")


def read(task_dir: Path) -> Source | None:
    """Return files and symbols of the oracle in ``task_spec.json``, or None without the file.

    The oracle lies at ``artifacts.oracle`` or ``oracle``.
    """
    loaded = load_json(task_dir, "tests", "task_spec.json")
    if loaded is None:
        return None
    name, document, problems = loaded
    oracle = table(table(document, "artifacts"), "oracle") or table(document, "oracle")
    found = (shapes.entries(oracle.get(key)) for key in _FILE_KEYS)
    entries = next((entries for entries in found if entries), ())
    return Source(name, "high", entries=entries, symbols=_symbols(oracle), problems=problems)


def _symbols(oracle: dict[str, Any]) -> tuple[RawSymbol, ...]:
    found = (shapes.symbols(oracle.get(key)) for key in _SYMBOL_KEYS)
    return next((symbols for symbols in found if symbols), ())


def required_files(document: dict[str, Any]) -> Source | None:
    """Return the files under ``ground_truth.required_files`` of a decoded task.toml, if any.

    Files it calls merely sufficient are not required and do not count.
    """
    entries = shapes.entries(table(document, "ground_truth").get("required_files"))
    return Source("task.toml", "high", entries=entries) if entries else None
