"""What layouts share: folders looked through with a bound, and names of configurations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from msgspec import Struct

from retrieval_eval.agents.door.table import number_in
from retrieval_eval.escape import visible
from retrieval_eval.io.files import entries, first_bytes, iter_jsonl, probe, read_json
from retrieval_eval.io.layout import OWN_FOLDER
from retrieval_eval.values import counted

T = TypeVar("T")

MOST_FOLDERS: Final = 20_000
DEEPEST: Final = 6

_NUMBER: Final = re.compile(r"\d{1,18}")


def folders_in(folder: Path) -> list[Path]:
    """Return the folders of a folder; links, hidden ones and our own are none."""
    return [
        path
        for path in entries(folder)
        if path.name[0] != "."
        and path.name != OWN_FOLDER
        and not probe(path.is_symlink)
        and probe(path.is_dir)
    ]


def places_with(folder: Path, find: Callable[[Path], T | None]) -> Iterator[tuple[Path, T]]:
    """Yield the folders in which something is found, the outermost ones, with what it is."""
    level = [folder]
    n_seen = 0
    for _ in range(DEEPEST):
        following: list[Path] = []
        for place in level:
            n_seen += 1
            if n_seen > MOST_FOLDERS:
                return
            found = find(place)
            if found is None:
                following += folders_in(place)
            else:
                yield place, found
        level = following


def names_of(places: Sequence[Path], folder: Path) -> list[str]:
    """Return a name for each of some folders: its own, or the path to it where two are alike."""
    same = Counter(place.name for place in places)
    return [
        place.name
        if same[place.name] == 1 or place == folder
        else place.relative_to(folder).as_posix()
        for place in places
    ]


def in_order(name: str) -> tuple[list[int], str]:
    """Return the order of a name by the numbers in it."""
    return [int(number) for number in _NUMBER.findall(name)], name


# --------------------------------------------------------------------------------------------------
# What benchmarks state of their tasks beside the traces: resolved or not, and at what cost.

_PLACES: Final = ("", "results", "sb-cli-reports", "trajs/sb-cli-reports", "eval_files/dataset")
_WORDS: Final = (b'"total_instances"', b'"resolved', b'"no_generation"')
_EVALUATED: Final = ("output.swebench_eval.jsonl", "output.report.jsonl")
_PULL: Final = re.compile(r"([\w.-]{1,100})/([\w.-]{1,100}):pr-(\d{1,9})")
_MOST_FILES: Final = 200


class Verdict(Struct, frozen=True):
    """How one task ended: the reward, and the cost where the report states it."""

    reward: float
    cost_usd: float | None = None


class Verdicts(Struct, frozen=True):
    """Verdicts by task; tasks that no report names have ``others``.

    ``problems`` are sentences about reports that could not be used as they are.
    """

    by_task: dict[str, Verdict]
    others: float | None = None
    problems: tuple[str, ...] = ()

    def of(self, task: str) -> Verdict | None:
        """Return the verdict on a task, or None where none is stated."""
        known = self.by_task.get(task)
        return known or (None if self.others is None else Verdict(self.others))

    def __bool__(self) -> bool:
        return bool(self.by_task) or self.others is not None


def verdicts_in(folder: Path) -> Verdicts:
    """Return what the reports in a folder, and in the usual folders of it, state.

    Where two reports disagree about a task the first is kept: by folder, then by name.
    """
    found: dict[str, Verdict] = {}
    others: float | None = None
    disputed: set[str] = set()
    errors: set[str] = set()
    for stated in _reports(folder):
        of_file = dict(_stated(stated))
        if _resolved(stated) is not None and "unresolved_ids" not in stated:
            others = 0.0
        errors |= set(_names(stated.get("error_ids")))
        for task, verdict in of_file.items():
            known = found.setdefault(task, verdict)
            if known.reward != verdict.reward:
                disputed.add(task)
    problems = []
    if disputed:
        named = ", ".join(visible(task, 80) for task in sorted(disputed)[:3])
        what = counted(len(disputed), "task")
        problems.append(f"{what} with two verdicts, of which the first is kept: {named}")
    if errors:
        what = counted(len(errors), "task")
        problems.append(f"{what} whose evaluation ended with an error count as not resolved")
    return Verdicts(found, others, tuple(problems))


def report_of(line: Mapping[str, Any]) -> Verdict | None:
    """Return the verdict in a line of OpenHands' output, which an evaluation may have filled in."""
    result = line.get("test_result")
    for holder in (line, result if isinstance(result, dict) else {}):
        report = holder.get("report")
        if isinstance(report, dict) and isinstance(report.get("resolved"), bool):
            return Verdict(float(report["resolved"]))
    return None


def _reports(folder: Path) -> Iterator[Mapping[str, Any]]:
    for place in _PLACES:
        for path in _documents(folder / place):
            if is_report(path):
                value = read_json(path, folder).value
                if isinstance(value, dict):
                    yield value
    for name in _EVALUATED:
        if probe((folder / name).is_file):
            for line in iter_jsonl(folder / name, folder):
                if isinstance(line.value, dict) and (verdict := report_of(line.value)) is not None:
                    task = line.value.get("instance_id")
                    yield {str(task): {"resolved": bool(verdict.reward)}}
    for inner in entries(folder / "logs"):
        if probe((report := inner / "report.json").is_file):
            value = read_json(report, folder).value
            if isinstance(value, dict):
                yield value if inner.name in value else {inner.name: value}


def is_report(path: Path) -> bool:
    """Return whether a file may be a report, judged by its beginning."""
    head, _ = first_bytes(path, path.parent)
    return any(word in head for word in _WORDS)


def _documents(folder: Path) -> list[Path]:
    """Return the JSON files of a folder that may be reports, which traces by task are not."""
    names = [
        path
        for path in entries(folder)
        if path.suffix == ".json" and not path.name.endswith((".traj.json", "preds.json"))
    ]
    return [path for path in names[:_MOST_FILES] if probe(path.is_file)]


def _resolved(stated: Mapping[str, Any]) -> list[str] | None:
    """Return the tasks that a report names as resolved, or None where it has no such list."""
    lists = (stated.get(key) for key in ("resolved_ids", "resolved"))
    named = next((value for value in lists if isinstance(value, list)), None)
    return None if named is None else _names(named)


def _stated(stated: Mapping[str, Any]) -> Iterator[tuple[str, Verdict]]:
    resolved = _resolved(stated)
    if resolved is not None:
        yield from ((task, Verdict(1.0)) for task in resolved)
        known = set(resolved)
        for key, value in stated.items():
            if key.endswith("_ids") and key != "incomplete_ids":
                yield from ((task, Verdict(0.0)) for task in _names(value) if task not in known)
        return
    for task, entry in stated.items():
        if isinstance(entry, dict) and isinstance(entry.get("resolved"), bool):
            cost = number_in(entry.get("cost"))
            yield _task(task), Verdict(float(entry["resolved"]), cost)


def _names(value: Any) -> list[str]:
    found: Iterable[Any] = value if isinstance(value, list) else ()
    return [_task(name) for name in found if isinstance(name, str)]


def _task(name: str) -> str:
    """Return the name of a task as traces have it, where a report names the pull request.

    Examples
    --------
    >>> _task("acme/widgets:pr-7"), _task("acme__widgets-7")
    ('acme__widgets-7', 'acme__widgets-7')
    """
    found = _PULL.fullmatch(name)
    return f"{found[1]}__{found[2]}-{found[3]}" if found else name
