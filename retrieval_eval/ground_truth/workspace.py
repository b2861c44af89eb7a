"""What a task says about its workspace: repositories, their folders, the agent's own outputs."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from retrieval_eval.ground_truth.outputs import told_outputs
from retrieval_eval.ground_truth.source import items, load_text, table, text_of
from retrieval_eval.paths import WORKSPACE_ROOTS, repository_name
from retrieval_eval.records import Repository

_MOST_REPOSITORIES = 100


@dataclass(frozen=True, slots=True)
class Workspace:
    """The repositories a task states, the outputs it asks for and its decoded task.toml."""

    repositories: tuple[Repository, ...] = ()
    told: tuple[str, ...] = ()
    document: dict[str, Any] | None = None
    problems: tuple[str, ...] = ()

    @property
    def folders(self) -> tuple[Repository, ...]:
        """The repositories whose folder is stated, longest folder first."""
        stated = (r for r in self.repositories if r.folder)
        return tuple(sorted(stated, key=lambda r: (-len(r.folder or ""), r.name)))


def read_workspace(task_dir: Path) -> Workspace:
    """Return what ``task.toml`` and ``instruction.md`` say; nothing where they are missing."""
    document, problems = _task_toml(task_dir)
    instruction = load_text(task_dir, "", "instruction.md")
    prompt = text_of(table(document, "task").get("prompt")) or ""
    artifacts = " ".join(_strings(document.get("artifacts")))
    told = told_outputs(f"{instruction[1] if instruction else ''}\n{prompt}\nwrite {artifacts}")
    return Workspace(tuple(_repositories(document)), told, document, problems)


def _task_toml(task_dir: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    loaded = load_text(task_dir, "", "task.toml")
    if loaded is None:
        return {}, ()
    name, text, problems = loaded
    try:
        return tomllib.loads(text), problems
    except (ValueError, RecursionError) as error:
        return {}, (*problems, f"{name}: not valid TOML ({error})")


def _repositories(document: dict[str, Any]) -> Iterator[Repository]:
    """Yield each stated repository once, with the folder of its first statement."""
    found: dict[str, Repository] = {}
    for item in islice(items(document.get("repos")), _MOST_REPOSITORIES):
        stated = _repository(item)
        if stated is not None:
            found.setdefault(stated.name.lower(), stated)
    for holder in (document, table(document, "task")):
        for raw in (text_of(holder.get("repo")) or "").split(",", _MOST_REPOSITORIES):
            name = repository_name(raw)
            if name is not None:
                found.setdefault(name.lower(), Repository(name))
    yield from found.values()


def _repository(item: Any) -> Repository | None:
    if isinstance(item, str):
        name = repository_name(item)
        return Repository(name) if name else None
    if not isinstance(item, dict):
        return None
    folder = (text_of(item.get("path")) or "").strip()
    root = next((root for root in WORKSPACE_ROOTS if f"{folder}/".startswith(root)), "")
    folder = f"{folder}/".removeprefix(root).strip("/.")
    address = text_of(item.get("url")) or text_of(item.get("repo")) or text_of(item.get("name"))
    name = repository_name(address) if address else repository_name(folder)
    return Repository(name, folder or None) if name else None


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from (item for item in items(inner) if isinstance(item, str))
