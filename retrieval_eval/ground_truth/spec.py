"""Declared oracles: a task's specification and the required files of its task.toml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from retrieval_eval.ground_truth import shapes
from retrieval_eval.ground_truth.source import Entry, RawSymbol, Source, items, load_json, table

_SYMBOL_KEYS = ("required_symbols", "symbols", "items")
_FILE_KEYS = ("required_files", "files")
_ITEM_KEYS = (*_SYMBOL_KEYS, "required_references")


def read(task_dir: Path) -> Source | None:
    """Return files and symbols of the oracle in ``task_spec.json``, or None without the file.

    The oracle lies at ``artifacts.oracle`` or ``oracle``. One that requires symbols, references or
    chains of steps and no file as such requires the files they lie in.
    """
    loaded = load_json(task_dir, "tests", "task_spec.json")
    if loaded is None:
        return None
    name, document, problems = loaded
    oracle = table(table(document, "artifacts"), "oracle") or table(document, "oracle")
    found = (shapes.entries(oracle.get(key)) for key in _FILE_KEYS)
    entries = next((entries for entries in found if entries), ()) or _item_files(oracle)
    return Source(name, "high", entries=entries, symbols=_symbols(oracle), problems=problems)


def _item_files(oracle: dict[str, Any]) -> tuple[Entry, ...]:
    chains = [c for c in items(oracle.get("dependency_chains")) if isinstance(c, dict)]
    lists = (*(oracle.get(key) for key in _ITEM_KEYS), *(c.get("steps") for c in chains))
    objects = ([item for item in items(value) if isinstance(item, dict)] for value in lists)
    return tuple(dict.fromkeys(entry for listed in objects for entry in shapes.entries(listed)))


def _symbols(oracle: dict[str, Any]) -> tuple[RawSymbol, ...]:
    found = (shapes.symbols(oracle.get(key)) for key in _SYMBOL_KEYS)
    return next((symbols for symbols in found if symbols), ())


def required_files(document: dict[str, Any]) -> Source | None:
    """Return the files under ``ground_truth.required_files`` of a decoded task.toml, if any.

    Files it calls merely sufficient are not required and do not count.
    """
    entries = shapes.entries(table(document, "ground_truth").get("required_files"))
    return Source("task.toml", "high", entries=entries) if entries else None
