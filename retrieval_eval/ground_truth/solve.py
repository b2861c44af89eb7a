"""The gold patch inside a task's own solution script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from retrieval_eval.ground_truth.patches import patch_entries
from retrieval_eval.ground_truth.source import Source, load_json, load_text, text_of

_HEREDOC = re.compile(r"<<(-?)\s*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\2")
_PATCH_FILE = re.compile(r"([\w.-]{1,200}\.(?:patch|diff))\b")


def read(task_dir: Path) -> Source | None:
    """Return the files of the gold patch (medium confidence), or None without a solution.

    The patch is all here-documents in ``solution/solve.sh``, else all patch files beside it that
    the script names, else the ``patch`` of ``config.json``.
    """
    problems: tuple[str, ...] = ()
    names: list[str] = []
    for name, texts, found in _patches(task_dir):
        names.append(name)
        problems += found
        entries = tuple(dict.fromkeys(entry for text in texts for entry in patch_entries(text)))
        if entries:
            return Source(name, "medium", entries, edit_entries=entries, problems=problems)
    return Source(names[0], "medium", problems=problems) if names else None


def heredocs(script: str) -> Iterator[str]:
    r"""Yield the bodies of a shell script's here-documents; ``<<-`` drops leading tabs.

    Examples
    --------
    >>> list(heredocs("cat <<'EOF'\nhello\nEOF\necho done\n"))
    ['hello\n']
    """
    lines = script.splitlines(keepends=True)
    position = 0
    while position < len(lines):
        match = _HEREDOC.search(lines[position])
        position += 1
        if match is None:
            continue
        start = position
        while position < len(lines) and lines[position].strip() != match.group(3):
            position += 1
        body = lines[start:position]
        yield "".join(line.lstrip("\t") for line in body) if match.group(1) else "".join(body)
        position += 1


def _patches(task_dir: Path) -> Iterator[tuple[str, list[str], tuple[str, ...]]]:
    script = load_text(task_dir, "solution", "solve.sh")
    if script is not None:
        name, text, problems = script
        yield name, list(heredocs(text)), problems
        named = (
            load_text(task_dir, "solution", n) for n in dict.fromkeys(_PATCH_FILE.findall(text))
        )
        beside = [loaded for loaded in named if loaded is not None]
        if beside:
            yield beside[0][0], [t for _, t, _ in beside], tuple(p for *_, ps in beside for p in ps)
    for folder in ("tests", "solution"):
        config = load_json(task_dir, folder, "config.json")
        if config is not None:
            name, document, problems = config
            yield name, [_patch_of(document)], problems


def _patch_of(document: Any) -> str:
    return (text_of(document.get("patch")) or "") if isinstance(document, dict) else ""
