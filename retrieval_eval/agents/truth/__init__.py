"""Ground truth of a task, from the first of its sources in order of priority that has any."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from retrieval_eval.agents.truth.readers import (
    GROUND_TRUTH_FILES,
    read_changes,
    read_defects,
    read_gold_patch,
    read_ground_truth_json,
    read_instruction,
    read_patches,
    read_task_spec,
    read_test_script,
    required_files,
)
from retrieval_eval.agents.truth.shapes import Entry, RawChunk, RawSymbol, Source, file_entries
from retrieval_eval.agents.truth.workspace import (
    Aligner,
    Resolved,
    Workspace,
    as_repository,
    locate,
    read_workspace,
    resolve,
)
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import decode, read_text, reading_once
from retrieval_eval.records import Chunk, FileRef, GroundTruth, Repository, Symbol
from retrieval_eval.values import counted

__all__ = [
    "expanded",
    "ground_truth_of",
    "listed_ground_truth",
    "load_ground_truth",
    "stated_ground_truth",
]

T = TypeVar("T", bound=Hashable)
Reader = Callable[[Path], Source | None]

STATED: tuple[Reader, ...] = (
    *(partial(read_ground_truth_json, file_name=n) for n in GROUND_TRUTH_FILES),
    read_defects,
    read_changes,
    read_patches,
    read_task_spec,
)
"""Sources that state the ground truth, in order of priority."""

GUESSED: tuple[Reader, ...] = (read_instruction, read_test_script)
"""Sources that are only read when no other source yields a file."""


def load_ground_truth(task_dir: Path | str | None) -> GroundTruth:
    """Return what a task expects an agent to find.

    The first source that yields files wins and gives its name (relative to the task) and its
    confidence: ``tests/ground_truth.json`` and its alternates, ``expected_defects.json``,
    ``expected_changes.json``, reference patches, ``task_spec.json``, required files of
    ``task.toml`` (all high), the gold patch of ``solution/solve.sh`` (medium), path-like strings
    of ``instruction.md`` (medium) and ``tests/test.sh`` (low).

    What the winner does not state comes from lower sources: symbols and line ranges (only those
    of the winner's files; ``expected_defects.json`` first, for its ranges are real), and expected
    edit files from ``expected_changes.json``, a patch, the gold patch or a stated
    ``expected_edit_files``, in this order. Entries that name the agent's own output are kept
    apart; when nothing else is left the reason is ``not_a_retrieval_target``. A file that a patch
    adds, and the new name of one that it renames, was not there to be found: it is an expected edit
    file and stands in ``added_files``; when nothing else is left the reason is
    ``only_added_files``. A list of files is taken as it is written. ``output_files`` are the places
    the instruction tells the agent to write its answer to.

    Parameters
    ----------
    task_dir
        The folder of the task (``tests/``, ``solution/``, ``instruction.md``, ``task.toml``), or
        None when the task is unknown.

    Returns
    -------
    GroundTruth
        Empty with reason ``no_ground_truth`` where no source yields a file. Unreadable sources
        become sentences in ``problems`` and ``unreadable``; nothing is raised but ``BadInputError``
        for a URL other than ``file://``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "tests").mkdir()
    ...     _ = (Path(folder) / "tests/ground_truth.json").write_text('{"files": ["src/a.py"]}')
    ...     truth = load_ground_truth(folder)
    >>> [str(file) for file in truth.files], truth.source, truth.confidence
    (['src/a.py'], 'tests/ground_truth.json', 'high')
    """
    if task_dir is None:
        return GroundTruth()
    task_dir = Path(task_dir)
    with reading_once(task_dir):
        return _loaded(task_dir)


def _loaded(task_dir: Path) -> GroundTruth:
    workspace = read_workspace(task_dir)
    return _decided(tuple(_stated(task_dir, workspace)), workspace, partial(_guessed, task_dir))


def _guessed(task_dir: Path) -> tuple[Source, ...]:
    return tuple(s for reader in GUESSED if (s := reader(task_dir)) is not None)


def ground_truth_of(sources: tuple[Source, ...], repository: str | None = None) -> GroundTruth:
    """Return the ground truth that sources state, the first that names a file before the others.

    ``repository`` is the one that the task is about, such as ``django/django``.
    """
    own = as_repository(repository)
    return _decided(sources, Workspace(() if own is None else (own,)))


def _decided(
    sources: tuple[Source, ...],
    workspace: Workspace,
    guess: Callable[[], tuple[Source, ...]] = tuple,
) -> GroundTruth:
    resolved = [resolve(s.entries, workspace, s.name) for s in sources]
    outputs = _distinct(raw for found in resolved for raw in found.own_outputs)
    winner = _first_with_files(sources, resolved)
    guessed: tuple[Source, ...] = ()
    # A patch that only adds files is no reason to guess which others may have been meant.
    is_stated = bool(outputs) or any(s.added_entries for s in sources)
    if winner is None and not is_stated:
        guessed = guess()
        found = [resolve(s.entries, workspace, s.name) for s in guessed]
        winner = _first_with_files(guessed, found)
    problems = (*workspace.problems, *(p for s in (*sources, *guessed) for p in s.problems))
    if winner is None:
        aligner = Aligner(())
        added = _added(sources, aligner, workspace)
        reason = "not_a_retrieval_target" if outputs else "no_ground_truth"
        return GroundTruth(
            expected_edit_files=_edit_files(sources, aligner, workspace) if added else None,
            added_files=added,
            not_retrieval_targets=outputs,
            output_files=workspace.output_files,
            repositories=workspace.repositories,
            primary=workspace.primary,
            reason="only_added_files" if added else reason,
            problems=problems,
            unreadable=problems,
        )
    return _of(winner, sources, workspace, problems)


def _of(
    winner: tuple[Source, Resolved],
    sources: tuple[Source, ...],
    workspace: Workspace,
    problems: tuple[str, ...],
) -> GroundTruth:
    """Return the ground truth of the winning source, with what others add to its files."""
    source, own = winner
    aligner = Aligner(own.files)
    return GroundTruth(
        files=own.files,
        symbols=_symbols(sources, aligner, workspace),
        chunks=_chunks(sources, aligner, workspace),
        expected_edit_files=_edit_files(sources, aligner, workspace),
        added_files=_added(sources, aligner, workspace),
        not_retrieval_targets=own.own_outputs,
        output_files=workspace.output_files,
        repositories=_repositories(own.files, workspace),
        primary=workspace.primary,
        source=source.name,
        confidence=source.confidence,
        reason=None if own.files else "no_ground_truth",
        problems=(*problems, *source.notes, *own.problems),
        unreadable=problems,
        patterns=own.patterns,
        fix_lines=next((s.fix_lines for s in sources if s.fix_lines), ()),
    )


def stated_ground_truth(paths: Iterable[str], source: str) -> GroundTruth:
    """Return the ground truth that a caller states as paths, each relative to its repository.

    Parameters
    ----------
    paths
        Such as ``src/a.py`` or ``widgets::src/a.py``; a ``*`` makes a pattern of one.
    source
        What to call the statement.

    Examples
    --------
    >>> [str(file) for file in stated_ground_truth(["src/a.py", "src/a.py"], "given").files]
    ['src/a.py']
    """
    entries = tuple(Entry(path.strip()) for path in paths if path.strip())
    found = resolve(entries, Workspace(), source)
    return _of((Source(source, "high", entries), found), (), Workspace(), ())


def listed_ground_truth(path: Path) -> GroundTruth:
    """Return the ground truth in a file: JSON in a known shape, else one path a line.

    Lines that begin with ``#`` are left out.

    Raises
    ------
    BadInputError
        When the file cannot be read.
    """
    text = read_text(path, path.parent)
    if text.value is None:
        raise BadInputError(str(text.problem))
    document, problem = decode(text.value)
    if problem is None and isinstance(document, dict | list):
        entries = file_entries(document)
        found = resolve(entries, Workspace(), path.name)
        return _of((Source(path.name, "high", entries), found), (), Workspace(), ())
    lines = (line for line in text.value.splitlines() if not line.lstrip().startswith("#"))
    return stated_ground_truth(lines, path.name)


# --------------------------------------------------------------------------------------------------
# Entries with a wildcard, which mean whatever files of a trial they match.

_MOST_PATTERNS = 200


def expanded(truth: GroundTruth, seen: Iterable[FileRef]) -> GroundTruth:
    """Return a ground truth whose patterns are replaced by the files of a trial that they match.

    Which files of a repository a pattern matches is not known, only which of those that the trace
    names: recall over them is too high, and each pattern is named in ``problems``.

    Parameters
    ----------
    truth
        A ground truth with ``patterns``.
    seen
        Every file that the trace names.

    Examples
    --------
    >>> truth = stated_ground_truth(["src/**/*.py"], "given")
    >>> found = expanded(truth, [FileRef("src/a.py"), FileRef("src/b/c.py"), FileRef("d.py")])
    >>> [str(file) for file in found.files]
    ['src/a.py', 'src/b/c.py']
    >>> found.problems
    ("given: 'src/**/*.py' matches 2 files that the trace names",)
    """
    known = {file.key: file for file in truth.files}
    paths = {ref.key: ref for ref in seen}
    notes = []
    added: dict[tuple[str | None, str], FileRef] = {}
    for pattern in truth.patterns[:_MOST_PATTERNS]:
        parts = tuple(part.replace("[", "[[]") for part in pattern.key[1].split("/"))
        found = {
            key: ref
            for key, ref in paths.items()
            if pattern.key[0] in (None, key[0]) and _matches(key[1].split("/"), parts)
        }
        added |= {key: ref for key, ref in found.items() if key not in known}
        what = f"matches {counted(len(found), 'file')} that the trace names"
        if not found:
            what = "matches no file that the trace names, so it cannot be used"
        notes.append(f"{truth.source}: {str(pattern)[:200]!r} {what}")
    if len(truth.patterns) > _MOST_PATTERNS:
        notes.append(f"{truth.source}: only {_MOST_PATTERNS} patterns are used")
    files = (*truth.files, *added.values())
    return replace(
        truth,
        files=files,
        reason=None if files else truth.reason,
        problems=(*truth.problems, *notes),
        expanded=tuple(added.values()),
    )


def _matches(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether the parts of a path match those of a pattern; ``**`` is any folders."""
    reached = {0}
    for part in path:
        following = set()
        for place in reached:
            while place < len(pattern) and pattern[place] == "**":
                following.add(place)
                place += 1
            if place < len(pattern) and fnmatchcase(part, pattern[place]):
                following.add(place + 1)
        reached = following
    rest = {place for place in reached if all(part == "**" for part in pattern[place:])}
    return bool(rest)


def _stated(task_dir: Path, workspace: Workspace) -> Iterator[Source]:
    for reader in STATED:
        source = reader(task_dir)
        if source is not None:
            yield source
    required = required_files(workspace.document or {})
    if required is not None:
        yield required
    gold = read_gold_patch(task_dir)
    if gold is not None:
        yield gold


def _first_with_files(
    sources: Iterable[Source], resolved: Iterable[Resolved]
) -> tuple[Source, Resolved] | None:
    pairs = zip(sources, resolved, strict=True)
    return next(((source, found) for source, found in pairs if found.files or found.patterns), None)


def _edit_files(
    sources: tuple[Source, ...], aligner: Aligner, workspace: Workspace
) -> tuple[FileRef, ...] | None:
    """Return the edit files of the first source; ``expected_edit_files`` comes last."""
    stating = [source for source in sources if source.edit_entries]
    stating.sort(key=lambda s: s.name.rsplit("/", 1)[-1] in GROUND_TRUTH_FILES)
    for source in stating:
        found = resolve(source.edit_entries or (), workspace, source.name).files
        if found:
            return _distinct(aligner.align(ref) or ref for ref in found)
    return None


def _added(
    sources: tuple[Source, ...], aligner: Aligner, workspace: Workspace
) -> tuple[FileRef, ...]:
    """Return the files that the reference change adds, but for those that are expected as such."""
    for source in sources:
        if source.added_entries:
            found = resolve(source.added_entries, workspace, source.name).files
            return tuple(ref for ref in found if aligner.align(ref) is None)
    return ()


def _symbols(
    sources: tuple[Source, ...], aligner: Aligner, workspace: Workspace
) -> tuple[Symbol, ...]:
    for source in sources:
        found = _distinct(
            Symbol(ref, raw.symbol)
            for raw in source.symbols
            if (ref := _aligned(raw, aligner, workspace)) is not None
        )
        if found:
            return found
    return ()


def _chunks(
    sources: tuple[Source, ...], aligner: Aligner, workspace: Workspace
) -> tuple[Chunk, ...]:
    """Return the line ranges of the first source that has any, real ones first."""
    for source in sorted(sources, key=lambda s: not s.name.endswith("expected_defects.json")):
        found = _distinct(
            Chunk(ref, raw.line_start, raw.line_end, raw.annotation)
            for raw in source.chunks
            if (ref := _aligned(raw, aligner, workspace)) is not None
        )
        if found:
            return found
    return ()


def _aligned(raw: RawSymbol | RawChunk, aligner: Aligner, workspace: Workspace) -> FileRef | None:
    ref = locate(raw.entry, workspace)
    return aligner.align(ref) if ref is not None else None


def _repositories(files: tuple[FileRef, ...], workspace: Workspace) -> tuple[Repository, ...]:
    known = {repository.name.lower(): repository for repository in workspace.repositories}
    for ref in files:
        if ref.repository is not None:
            known.setdefault(ref.repository.lower(), Repository(ref.repository))
    return tuple(known.values())


def _distinct(values: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(values))
