"""What the model was given, against what we read from the trace of the run."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final, NamedTuple

from click.testing import CliRunner

from retrieval_eval.cli.main import group
from tests.lab import workspace
from tests.lab.drivers import Driver
from tests.lab.model import dialect_of, requests
from tests.lab.situations import Situation

_ALL: Final = [*workspace.FILES, "assets/logo.png", *workspace.UNDECIDED]
_UNKNOWN: Final = 3
_FACTS: Final = {
    "total_tokens": "tokens",
    "cost_usd": "cost",
    "model": "model",
    "harness_version": "version",
    "elapsed_seconds": "times",
}


class Truth(NamedTuple):
    """What the requests of a run show: lines of files by channel, names, accepted token sums."""

    answered: dict[str, set[int]]
    beside: dict[str, set[int]]
    named: set[str]
    tokens: set[int]
    requests: int


def truth(folder: Path) -> Truth:
    """Return what the model was given in a run, from the recorded requests."""
    answers: set[str] = set()
    beside: set[str] = set()
    by_role: Counter[str] = Counter()
    has_image = False
    made = requests(folder / "requests.jsonl")
    for request in made:
        dialect = dialect_of(request["path"])
        assert dialect is not None
        received = list(dialect.received(request["body"]))
        for call, text in received:
            (beside if call is None else answers).add(text)
        role = request["plan"] if request["role"] == "plan" else request["role"]
        by_role[role] += sum(request["tokens"].values())
        has_image = has_image or workspace.IMAGE in json.dumps(request["body"])
    main = by_role["main"] + by_role["then"]
    own = {main, main + by_role["sub"]}
    extra = by_role["side"], by_role["summary"]
    sums = {one + other for one in own for other in (0, *extra, sum(extra))}
    given = workspace.delivered(answers)
    if has_image:
        given["assets/logo.png"] = set()
    return Truth(
        given,
        workspace.delivered(beside),
        workspace.named(answers),
        sums,
        len(made),
    )


def read(path: Path) -> dict[str, Any] | str:
    """Return what ``trace`` says of a file, or why it says nothing."""
    done = CliRunner().invoke(group, ["trace", str(path), "--truth", ",".join(_ALL), "--json"])
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        is_unknown = done.exit_code == _UNKNOWN
        said = "" if is_unknown else " ".join(done.stderr.split())[-300:]
        return "no format of ours" if is_unknown else f"exit {done.exit_code}: {said}"
    return found


def compare(
    driver: Driver, version: str, situation: Situation, known: Truth, path: Path, kind: str
) -> dict[str, Any]:
    """Return the row of one trace: its verdict, what is wrong, and what is only possible."""
    found = read(path)
    if isinstance(found, str):
        return {"verdict": "unread", "wrong": [found]}
    coverage, outcome = found["events"]["coverage"], found["metrics"]["outcome"]
    silent = _silent(known, path)
    wrong = list(_files(situation, known, found, silent))
    if coverage["trace_format"] != kind:
        wrong.append(f"format {coverage['trace_format']}")
    wrong += _facts(driver, version, known, outcome)
    details = found["evidence_detail"]
    reasons = Counter(
        cause.split(" (step")[0]
        for row in details.values()
        if row["certainty"] == "possible"
        for cause in dict.fromkeys(row["causes"])
    )
    open_ = [file for file in known.answered if details[file]["certainty"] == "possible"]
    row: dict[str, Any] = {"verdict": "wrong" if wrong else "possible" if open_ else "right"}
    row |= {
        "wrong": wrong,
        "possible": dict(sorted(reasons.items())),
        "delivered_possible": sorted(open_),
        "fewer_lines": sorted(_fewer(known, found)),
        "stated": [name for key, name in _FACTS.items() if outcome[key] is not None],
        "given_unseen": sorted(file for file in silent if details[file]["certainty"] == "none"),
        "flags": [*filter(None, [coverage["degraded_reason"]]), *coverage["quality_flags"]],
    }
    return {key: value for key, value in row.items() if value}


def _silent(known: Truth, path: Path) -> set[str]:
    """Return what the model was given unasked, and of which the trace has no line.

    Nothing in such a trace could tell, so that a reading that is silent, too, is not wrong.
    """
    files = {*known.beside, *(known.answered.keys() & set(workspace.UNASKED))}
    text = path.read_bytes().decode("utf-8", "replace")
    return files - set(workspace.delivered([text]))


def _files(
    situation: Situation, known: Truth, found: dict[str, Any], silent: set[str]
) -> list[str]:
    wrong = []
    claimed = _claimed(found)
    for file, row in found["evidence_detail"].items():
        if file in workspace.UNDECIDED:
            continue
        shown = known.answered.get(file, set()) | known.beside.get(file, set())
        is_content = file in known.answered or file in known.beside
        is_listed = file in situation.lists and file in known.named
        if row["certainty"] == "certain":
            if not is_content and file not in known.named:
                wrong.append(f"false certain: {file}")
            elif not is_content and row["access"] != "listed":
                wrong.append(f"false certain, only its name was given: {file}")
        elif row["certainty"] == "none" and file not in silent and (is_content or is_listed):
            wrong.append(f"false none: {file}")
        more = claimed.get(file, set()) - shown
        if more and file in workspace.FILES:
            wrong.append(f"lines that were not given: {file} {_ranges(more)}")
    return wrong


def _claimed(found: dict[str, Any]) -> dict[str, set[int]]:
    """Return the lines that targets without a doubt state."""
    lines: dict[str, set[int]] = {}
    events = found["events"]["events"]
    targets = [t for event in events if event["tool_category"] != "file_write" for t in event["targets"]]
    for target in [*targets, *found["events"].get("attached", [])]:
        if target.get("doubt"):
            continue
        text = workspace.FILES.get(target["file"])
        if text is None:
            continue
        for first, last in target.get("lines") or ():
            lines.setdefault(target["file"], set()).update(range(first, last + 1))
        if target.get("is_whole"):
            lines.setdefault(target["file"], set()).update(range(1, text.lines + 1))
    return lines


def _fewer(known: Truth, found: dict[str, Any]) -> list[str]:
    claimed = _claimed(found)
    return [file for file, lines in claimed.items() if known.answered.get(file, set()) - lines]


def _facts(driver: Driver, version: str, known: Truth, outcome: dict[str, Any]) -> list[str]:
    wrong = []
    tokens = outcome["total_tokens"]
    if tokens is not None and tokens not in known.tokens:
        wrong.append(f"tokens {tokens}, right {' or '.join(map(str, sorted(known.tokens)))}")
    if outcome["model"] not in {None, driver.model}:
        wrong.append(f"model {outcome['model']}")
    if outcome["harness_version"] not in {None, version}:
        wrong.append(f"version {outcome['harness_version']}")
    return wrong


def _ranges(lines: set[int]) -> str:
    return f"{min(lines)}-{max(lines)} ({len(lines)})"
