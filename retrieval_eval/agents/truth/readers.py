"""Readers of the ground truth in each kind of file of a task."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from retrieval_eval.agents.truth import shapes
from retrieval_eval.agents.truth.shapes import (
    Entry,
    RawSymbol,
    Source,
    items,
    load_json,
    load_text,
    table,
    text_of,
)
from retrieval_eval.paths import diff_path
from retrieval_eval.records import Confidence

# --------------------------------------------------------------------------------------------------
# Explicit ground truth: the seed's first source, in all its shapes.

GROUND_TRUTH_FILES = ("ground_truth.json", "ground_truth_agent.json", "oracle_answer.json")
"""The files read, the first that lists files wins; copies such as ``*.original.json`` are not."""

PLACEHOLDER = "{name}: all line ranges are the same placeholder, so they are left out"


def read_ground_truth_json(task_dir: Path, file_name: str = GROUND_TRUTH_FILES[0]) -> Source | None:
    """Return the ground truth in ``file_name`` of a task, or None when the task has no such file.

    The confidence is high (the seed's), or lower where the document itself states it. Line ranges
    that are all the same one from line 1 on are placeholders of a generator and left out.
    """
    loaded = load_json(task_dir, "tests", file_name)
    if loaded is None:
        return None
    name, document, problems = loaded
    fields: dict[str, Any] = document if isinstance(document, dict) else {}
    if not problems and not isinstance(document, dict | list):
        problems = (f"{name}: expected a list or an object",)
    notes: tuple[str, ...] = ()
    listed = list(items(fields.get("chunks")))
    ranges = shapes.chunks(listed)
    if len(ranges) < len(listed):
        missing = len(listed) - len(ranges)
        notes = (f"{name}: {missing} of {len(listed)} chunks have no file or no line range",)
    if ranges and shapes.are_placeholders(ranges):
        ranges, notes = (), (*notes, PLACEHOLDER.format(name=name))
    edits = shapes.entries(fields.get("expected_edit_files"))
    return Source(
        name=name,
        confidence=_confidence(fields.get("confidence")),
        entries=shapes.file_entries(document),
        symbols=shapes.symbols(fields.get("symbols")),
        chunks=ranges,
        edit_entries=edits or None,
        problems=problems,
        notes=notes,
    )


def _confidence(stated: Any) -> Confidence:
    if stated == "low":
        return "low"
    return "medium" if stated == "medium" else "high"


# --------------------------------------------------------------------------------------------------
# Injected defects of code-review tasks: the one source with real line ranges.


def read_defects(task_dir: Path) -> Source | None:
    """Return the files and line ranges of ``expected_defects.json``, or None without the file.

    The document is a list of defects or an object with the list under ``defects``; a defect
    names ``file``, and its ``line_start`` and ``line_end`` make a chunk when they are a range.
    """
    loaded = load_json(task_dir, "tests", "expected_defects.json")
    if loaded is None:
        return None
    name, document, problems = loaded
    listed = document.get("defects") if isinstance(document, dict) else document
    if not problems and not isinstance(listed, list):
        problems = (f"{name}: expected a list of defects",)
    defects = [item for item in items(listed) if isinstance(item, dict)]
    ranges = shapes.chunks(defects)
    entries = shapes.entries(defects)
    missing = len(entries) - len(ranges)
    notes = (f"{name}: {missing} of {len(entries)} defects have no line range",) if missing else ()
    return Source(name, "high", entries, chunks=ranges, problems=problems, notes=notes)


# --------------------------------------------------------------------------------------------------
# Files a task expects to be changed.


def read_changes(task_dir: Path) -> Source | None:
    """Return the ``expected_files`` of ``expected_changes.json``, or None without the file.

    They are relevant files and expected edit files at once.
    """
    loaded = load_json(task_dir, "tests", "expected_changes.json")
    if loaded is None:
        return None
    name, document, problems = loaded
    if not problems and not isinstance(document, dict):
        problems = (f"{name}: expected an object with expected_files",)
    entries = shapes.entries(document.get("expected_files")) if isinstance(document, dict) else ()
    return Source(name, "high", entries=entries, edit_entries=entries or None, problems=problems)


# --------------------------------------------------------------------------------------------------
# Reference patches: the files a known-good change touches.

PATCH_FILES = ("reference_fix.patch", "expected.diff", "expected.patch")


def read_patches(task_dir: Path) -> Source | None:
    """Return the files of the first reference patch that names any, or None without a patch."""
    problems: tuple[str, ...] = ()
    seen: list[str] = []
    for file_name in PATCH_FILES:
        loaded = load_text(task_dir, "tests", file_name)
        if loaded is None:
            continue
        name, text, found = loaded
        seen.append(name)
        touched = touched_by([text])
        if touched.files:
            return of_patches(name, "high", [text], touched, problems + found)
        problems += found or (f"{name}: names no file",)
    return Source(seen[0], "high", problems=problems) if seen else None


@dataclass(frozen=True, slots=True)
class Touched:
    """The files that a change touches, in its order, and those of them that it adds."""

    files: tuple[Entry, ...]
    added: tuple[Entry, ...]

    @property
    def existing(self) -> tuple[Entry, ...]:
        """Those that were there before the change."""
        return tuple(entry for entry in self.files if entry not in self.added)


def touched_by(patches: Iterable[str]) -> Touched:
    r"""Return the files that unified diffs, applied one after the other, touch, each once.

    Deleted files were there before, and so was the old name of a renamed one; its new name, and a
    file that is created or copied, is added. ``/dev/null`` never counts.

    Examples
    --------
    >>> found = touched_by(["--- a/a.py\n+++ b/a.py\n--- /dev/null\n+++ b/b.py\n"])
    >>> [entry.path for entry in found.existing], [entry.path for entry in found.added]
    (['a.py'], ['b.py'])
    """
    files: dict[str, None] = {}
    added: dict[str, None] = {}
    for text in patches:
        pairs = [(diff_path(old), diff_path(new)) for old, new in _headers(text)]
        # Old names are of the state before the diff, also where two files swap their names; but a
        # series of commits in one text may change what one of them created.
        created: set[str | None] = set()
        existing = set()
        for old, new in pairs:
            if old and old not in created:
                existing.add(old)
            elif not old and new not in existing:
                created.add(new)
        known = existing | files.keys()
        added.update((new, None) for _, new in pairs if new and new not in known)
        files.update((name, None) for pair in pairs for name in pair if name)
    return Touched(tuple(map(Entry, files)), tuple(map(Entry, added)))


def of_patches(
    name: str,
    confidence: Confidence,
    texts: Sequence[str],
    touched: Touched,
    problems: tuple[str, ...],
) -> Source:
    """Return what patches state: what they add is to be written, and was not there to be found."""
    return Source(
        name,
        confidence,
        touched.existing,
        edit_entries=touched.files,
        added_entries=touched.added,
        problems=problems,
        fix_lines=fix_lines(texts),
    )


_SHORTEST_FIX_LINE: Final = 20
_MOST_FIX_LINES: Final = 500


def fix_lines(patches: Iterable[str]) -> tuple[str, ...]:
    r"""Return the lines that patches add and that tell the change from the code before it.

    They are long enough to be no coincidence, and are not among the lines that the patches remove
    or show unchanged.

    Examples
    --------
    >>> fix_lines(["--- a/a.py\n+++ b/a.py\n-    x = 1\n+    limit = read_limit(config)\n+}\n"])
    ('limit = read_limit(config)',)
    """
    lines = [line for text in patches for line in text.splitlines()]
    known = {line[1:].strip() for line in lines if line[:1] in {"-", " "}}
    added = (line[1:].strip() for line in lines if line[:1] == "+" and line[:3] != "+++")
    distinctive = (
        line
        for line in added
        if len(line) >= _SHORTEST_FIX_LINE and line not in known and re.search("[A-Za-z]{3}", line)
    )
    return tuple(islice(dict.fromkeys(distinctive), _MOST_FIX_LINES))


_NEW_FILE: Final = re.compile(r"^new file mode ", re.MULTILINE)
_NEVER: Final = ("1970-01-01", "1969-12-31")
"""The days on which, in a diff with times, a file was last changed that does not exist."""


def _headers(text: str) -> Iterable[tuple[str, str]]:
    """Return old and new name of every file in a diff; the old one of a new file is /dev/null."""
    from unidiff.errors import UnidiffParseError
    from unidiff.patch import PatchSet

    try:
        return [
            ("/dev/null" if _is_new(file) else file.source_file, file.target_file)
            for file in PatchSet(text)
        ]
    except (UnidiffParseError, ValueError, AttributeError, IndexError, TypeError):
        return list(_scan(text.splitlines()))


def _is_new(file: Any) -> bool:
    is_stated = _NEW_FILE.search(str(file.patch_info or "")) is not None
    return is_stated or str(file.source_timestamp or "").startswith(_NEVER)


def _scan(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the old and new names in the headers of a diff whose hunks do not add up.

    A header is a ``---`` line directly followed by ``+++``, or a rename or copy line.
    """
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line.startswith("--- ") and following.startswith("+++ "):
            yield line[4:], following[4:]
        for what in ("rename", "copy"):
            if line.startswith(f"{what} from ") and following.startswith(f"{what} to "):
                # These lines carry no a/ or b/, so one is added for the reader to strip.
                old, new = line.removeprefix(f"{what} from "), following.removeprefix(f"{what} to ")
                yield f"a/{old}", f"a/{new}"


# --------------------------------------------------------------------------------------------------
# Declared oracles: a task's specification and the required files of its task.toml.

_SYMBOL_KEYS = ("required_symbols", "symbols", "items")
_FILE_KEYS = ("required_files", "files")
_ITEM_KEYS = (*_SYMBOL_KEYS, "required_references")


def read_task_spec(task_dir: Path) -> Source | None:
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
    return Source(
        name, "high", entries=entries, symbols=_required_symbols(oracle), problems=problems
    )


def _item_files(oracle: dict[str, Any]) -> tuple[Entry, ...]:
    chains = [c for c in items(oracle.get("dependency_chains")) if isinstance(c, dict)]
    lists = (*(oracle.get(key) for key in _ITEM_KEYS), *(c.get("steps") for c in chains))
    objects = ([item for item in items(value) if isinstance(item, dict)] for value in lists)
    return tuple(dict.fromkeys(entry for listed in objects for entry in shapes.entries(listed)))


def _required_symbols(oracle: dict[str, Any]) -> tuple[RawSymbol, ...]:
    found = (shapes.symbols(oracle.get(key)) for key in _SYMBOL_KEYS)
    return next((symbols for symbols in found if symbols), ())


def required_files(document: dict[str, Any]) -> Source | None:
    """Return the files under ``ground_truth.required_files`` of a decoded task.toml, if any.

    Files it calls merely sufficient are not required and do not count.
    """
    entries = shapes.entries(table(document, "ground_truth").get("required_files"))
    return Source("task.toml", "high", entries=entries) if entries else None


# --------------------------------------------------------------------------------------------------
# The gold patch inside a task's own solution script.

_HEREDOC = re.compile(r"<<(-?)\s*(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\2")
_PATCH_FILE = re.compile(r"([\w.-]{1,200}\.(?:patch|diff))\b")


def read_gold_patch(task_dir: Path) -> Source | None:
    """Return the files of the gold patch (medium confidence), or None without a solution.

    The patch is all here-documents in ``solution/solve.sh``, else all patch files beside it that
    the script names, else the ``patch`` of ``config.json``.
    """
    problems: tuple[str, ...] = ()
    names: list[str] = []
    for name, texts, found in _patches(task_dir):
        names.append(name)
        problems += found
        touched = touched_by(texts)
        if touched.files:
            return of_patches(name, "medium", texts, touched, problems)
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


# --------------------------------------------------------------------------------------------------
# The last resort: strings that look like paths in a task's instruction or test script.

_LONGEST_TEXT = 200_000
_TOKEN = re.compile(r"[^\s`'\"()\[\]{}<>|,;:=*?!]{3,300}")
_FILE = re.compile(r"[\w.@+~/-]+/[\w.@+~-]+\.[A-Za-z][A-Za-z0-9]{0,9}")
_VARIABLE = re.compile(r"^\$\w+/")
_OUTSIDE = re.compile(
    r"^/(tests?|logs?|tmp|usr|bin|sbin|etc|dev|proc|sys|opt|var|root|home|solution|oracle)/"
)
_DOMAIN = re.compile(r"^[\w-]+(\.[\w-]+)*\.(com|org|net|io|dev|gov|edu)/", re.IGNORECASE)
_STAND_IN = re.compile(r"(^|/)(path/to|your|foo|example)(/|$)", re.IGNORECASE)


def read_instruction(task_dir: Path) -> Source | None:
    """Return path-like strings of ``instruction.md`` with medium confidence, or None."""
    return _read(task_dir, "", "instruction.md", "medium")


def read_test_script(task_dir: Path) -> Source | None:
    """Return path-like strings of ``tests/test.sh`` with low confidence, or None."""
    return _read(task_dir, "tests", "test.sh", "low")


def _read(task_dir: Path, folder: str, file_name: str, confidence: Confidence) -> Source | None:
    loaded = load_text(task_dir, folder, file_name)
    if loaded is None:
        return None
    name, text, problems = loaded
    entries = tuple(Entry(path) for path in path_like(text))
    return Source(name, confidence, entries=entries, problems=problems)


def path_like(text: str) -> list[str]:
    """Return the strings of a text that look like the path of a repository's file, each once.

    A path has a folder and an extension; web addresses, system folders and stand-ins such as
    ``path/to/file.ext`` do not count.

    Examples
    --------
    >>> path_like("Fix `src/core/a.py`, see https://example.org/x/b.html and /tmp/c/d.txt.")
    ['src/core/a.py']
    """
    found: dict[str, None] = {}
    for token in _TOKEN.findall(text[:_LONGEST_TEXT]):
        path = _VARIABLE.sub("", token.rstrip("."))
        if (
            _FILE.fullmatch(path)
            and not path.startswith("//")
            and not _OUTSIDE.match(path)
            and not _DOMAIN.match(path)
            and not _STAND_IN.search(path)
        ):
            found[path] = None
    return list(found)
