"""Inspect's logs: an ``.eval`` archive or one JSON document, or a folder of them.

A sample is a trial, an epoch a repeat, and the first scorer of the log gives its reward.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from retrieval_eval.agents.door.layouts.base import folders_in
from retrieval_eval.agents.door.table import Row, Rows, number_in
from retrieval_eval.escape import visible
from retrieval_eval.io.files import decode, entries, first_bytes, label, probe, read_json
from retrieval_eval.io.packed import PackedError, member, members
from retrieval_eval.values import counted

_LETTERS: Final = {"c": 1.0, "p": 0.5, "i": 0.0, "n": 0.0}
"""Scores as Inspect's own scorers write them: correct, partial, incorrect, no answer."""

_MOST_LOGS: Final = 500


class _Log(Struct, frozen=True):
    path: Path
    task: str
    model: str
    scorer: str | None
    samples: tuple[Mapping[str, Any], ...]


def find(place: Path) -> Rows | None:
    """Return the samples of one log, or of those in a folder."""
    root = place if probe(place.is_dir) else place.parent
    files = [place] if root != place else _files(place)
    logs = [log for path in files[:_MOST_LOGS] if (log := _log(path, root)) is not None]
    if not logs:
        return None
    same = Counter((log.task, log.model) for log in logs)
    ids = Counter(task for task in {log.task for log in logs})
    rows: list[Row] = []
    problems: list[str] = []
    for log in logs:
        config = log.model.rsplit("/", 1)[-1]
        if same[log.task, log.model] > 1:
            config = log.path.name.removesuffix(log.path.suffix)
        name = label(log.path, root)
        scorers = {str(key) for sample in log.samples for key in _dict(sample.get("scores"))}
        if len(scorers) > 1:
            others = ", ".join(visible(s, 60) for s in sorted(scorers - {log.scorer})[:5])
            problems.append(f"{name}: the reward is that of {log.scorer}; not used: {others}")
        odd = 0
        for sample in log.samples:
            task = str(sample.get("id"))
            epoch = sample.get("epoch")
            score = _dict(_dict(sample.get("scores")).get(log.scorer or ""))
            reward = _reward(score.get("value"))
            odd += reward is None and "value" in score
            rows.append(
                Row(
                    trace=str(log.path),
                    task=task if len(ids) == 1 else f"{log.task}/{task}",
                    config=config,
                    reward=reward,
                    repeat=str(epoch) if isinstance(epoch, int) else None,
                    benchmark=log.task,
                    sample=f"{task}_epoch_{epoch}" if len(log.samples) > 1 else None,
                )
            )
        if odd:
            problems.append(f"{name}: {counted(odd, 'score')} of {log.scorer} are no number")
    return Rows(tuple(rows), tuple(problems))


def _files(folder: Path) -> list[Path]:
    places = [folder, *folders_in(folder)]
    found = (path for place in places for path in entries(place))
    return [path for path in found if path.suffix in (".eval", ".json") and probe(path.is_file)]


def _log(path: Path, root: Path) -> _Log | None:
    head, _ = first_bytes(path, root)
    if head.startswith(b"PK\x03\x04"):
        return _archive(path)
    if b'"eval"' not in head:
        return None
    value = read_json(path, root).value
    if not isinstance(value, dict) or not isinstance(value.get("eval"), dict):
        return None
    samples = value.get("samples")
    listed = samples if isinstance(samples, list) else []
    return _made(path, value, [sample for sample in listed if isinstance(sample, dict)])


def _archive(path: Path) -> _Log | None:
    try:
        names = members(path)
        header = next(
            (name for name in ("header.json", "_journal/start.json") if name in names), None
        )
        if header is None:
            return None
        stated = _decoded(member(path, header))
        return _made(path, _dict(stated), list(_samples(path, names)))
    except PackedError:
        return None


def _samples(path: Path, names: list[str]) -> Iterator[Mapping[str, Any]]:
    """Yield the samples of an archive, from its summaries where these name all of them."""
    files = {
        name.removeprefix("samples/").removesuffix(".json"): name
        for name in names
        if name.startswith("samples/") and name.endswith(".json")
    }
    known: dict[str, Mapping[str, Any]] = {}
    if "summaries.json" in names:
        listed = _decoded(member(path, "summaries.json"))
        for entry in listed if isinstance(listed, list) else ():
            if isinstance(entry, dict):
                known[f"{entry.get('id')}_epoch_{entry.get('epoch')}"] = entry
    for sample, name in files.items():
        yield known[sample] if sample in known else _dict(_decoded(member(path, name)))


def _made(path: Path, document: Mapping[str, Any], samples: list[Mapping[str, Any]]) -> _Log | None:
    header = _dict(document.get("eval"))
    usable = [s for s in samples if isinstance(s.get("id"), str | int)]
    if not usable:
        return None
    task, model = header.get("task"), header.get("model")
    scorer = next(iter(_scorers(header, usable)), None)
    return _Log(
        path,
        str(task) if isinstance(task, str) else path.stem,
        str(model) if isinstance(model, str) else "unknown",
        scorer,
        tuple(usable),
    )


def _scorers(header: Mapping[str, Any], samples: list[Mapping[str, Any]]) -> Iterator[str]:
    stated = header.get("scorers")
    used = [str(name) for sample in samples for name in _dict(sample.get("scores"))]
    for scorer in stated if isinstance(stated, list) else ():
        name = _dict(scorer).get("name")
        short = str(name).rsplit("/", 1)[-1]
        yield from (one for one in (name, short) if one in used)
    yield from used


def _reward(value: Any) -> float | None:
    known = _LETTERS.get(value.strip().lower()) if isinstance(value, str) else None
    return number_in(value) if known is None else known


def _decoded(data: bytes) -> Any:
    return decode(data)[0]


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
