"""Resolves names of runs to their folders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import probe
from retrieval_eval.io.layout import OWN_FOLDER
from retrieval_eval.io.remote import is_url

GROUPS = ("official", "staging")
"""Folders of a runs root that group runs and are no runs themselves."""

_MOST_SUGGESTIONS = 5


def find_runs(runs_root: Path) -> list[Path]:
    """Return the folders of all runs below a runs root, by name.

    A run is a folder of the root, or of one of its groups ``official`` and ``staging``. Hidden
    folders are none. Raises :class:`~retrieval_eval.errors.BadInputError` when there is no such
    root.
    """
    if not probe(runs_root.is_dir):
        raise BadInputError(
            f"runs root {runs_root} is not a folder; $RETRIEVAL_EVAL_RUNS_ROOT names one"
        )
    runs = []
    for folder in _folders(runs_root):
        runs.extend(_folders(folder) if folder.name in GROUPS else [folder])
    return sorted(runs, key=lambda run: (run.name, run.as_posix()))


def resolve_runs(names: Sequence[str], runs_root: Path | None) -> tuple[Path, ...]:
    """Return the folder of every named run, in the order given and each once.

    Parameters
    ----------
    names
        Run ids below ``runs_root``, with or without their group (``official/x``), or paths.
    runs_root
        The folder of all runs, or None when only paths are given.

    Returns
    -------
    tuple of Path
        Absolute paths whose last part is the run id.

    Raises
    ------
    BadInputError
        When a name is neither; the message lists the closest names there are.
    """
    found = (_resolve(name.strip(), runs_root) for name in names)
    return tuple(dict.fromkeys(Path(os.path.abspath(path)) for path in found))  # noqa: PTH100


def split_run(name: str) -> list[str]:
    """Split ``RUN:CONFIG`` at its colons, of a URL at those behind its last slash.

    Examples
    --------
    >>> split_run("run:a:b"), split_run("s3://bucket/run:a"), split_run("s3://user:secret@bucket")
    (['run', 'a', 'b'], ['s3://bucket/run', 'a'], ['s3://user:secret@bucket'])
    """
    if not is_url(name):
        return name.split(":")
    folder, _, last = name.rpartition("/")
    if folder.endswith(":/"):
        return [name]
    run, *configs = last.split(":")
    return [f"{folder}/{run}", *configs]


def is_folder(name: str) -> bool:
    """Return whether a text is the path of a folder."""
    return not is_url(name) and probe(Path(name).is_dir)


def _resolve(name: str, runs_root: Path | None) -> Path:
    if name and runs_root is not None:
        found = _below(name, runs_root)
        if len(found) > 1:
            listed = ", ".join(path.relative_to(runs_root).as_posix() for path in found)
            raise BadInputError(f"run {name!r} is in several groups; name one of: {listed}")
        if found:
            return found[0]
    if name and probe(Path(name).is_dir):
        return Path(name)
    raise BadInputError(_not_found(name, runs_root))


def _below(name: str, runs_root: Path) -> list[Path]:
    if Path(name).is_absolute() or ".." in Path(name).parts:
        return []
    direct = runs_root / name
    if direct == runs_root:  # "." is here, not the folder of all runs
        return []
    if direct.relative_to(runs_root).as_posix() not in GROUPS and probe(direct.is_dir):
        return [direct]
    places = (runs_root / group / name for group in GROUPS)
    return [place for place in places if probe(place.is_dir)]


def _not_found(name: str, runs_root: Path | None) -> str:
    if runs_root is None:
        return (
            f"no folder {name!r}; name the path of a run, or its id below the folder of all runs "
            "($RETRIEVAL_EVAL_RUNS_ROOT)"
        )
    known = [run.name for run in find_runs(runs_root)]
    by_lower = {run_id.lower(): run_id for run_id in sorted(known, reverse=True)}
    wanted = name.rstrip("/").rsplit("/", 1)[-1].lower()
    close = get_close_matches(wanted, list(by_lower), n=_MOST_SUGGESTIONS, cutoff=0.5)
    if not close:
        return f"no run {name!r} among the {len(known)} runs in {runs_root}"
    listed = ", ".join(by_lower[lower] for lower in close)
    return f"no run {name!r} in {runs_root}; closest names: {listed}"


def _folders(path: Path) -> list[Path]:
    try:
        found = [item for item in path.iterdir() if item.is_dir()]
    except OSError:
        return []
    return sorted(f for f in found if not f.name.startswith(".") and f.name != OWN_FOLDER)
