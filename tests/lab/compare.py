"""What the model was given, against what we read from the trace of the run."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from retrieval_eval.agents.events import TrialEvents
from retrieval_eval.agents.events.evidence import accesses, doubt_of_gaps
from retrieval_eval.agents.runs.trial import Inspected, inspect_trace
from retrieval_eval.agents.traces import NoTraceError
from retrieval_eval.agents.truth import stated_ground_truth
from retrieval_eval.cli.trace import _Row as Row
from retrieval_eval.cli.trace import _rows as evidence_rows
from retrieval_eval.errors import RetrievalEvalError
from tests.lab import workspace
from tests.lab.drivers import Driver, label
from tests.lab.model import dialect_of, requests
from tests.lab.situations import Situation

_ALL: Final = [*workspace.FILES, "assets/logo.png", *workspace.UNDECIDED]
_LABEL: Final = re.compile(r"call_([a-z]+)_\d+_\d+")
_MOST_EXTRA: Final = 6
_FACTS: Final = {
    "total_tokens": "tokens",
    "cost_usd": "cost",
    "model": "model",
    "harness_version": "version",
    "elapsed_seconds": "times",
}


class Truth(NamedTuple):
    """What the requests of a run show.

    ``answers`` are the texts that calls were answered with, by the label of the call's situation;
    ``beside`` the other texts that the model did not write; ``tokens`` the sums that a trace may
    state: with sub-agents and requests beside the plan or without.
    """

    answers: dict[str, list[str]]
    beside: list[str]
    has_image: bool
    tokens: set[int]
    requests: int


class Given(NamedTuple):
    """Which lines of which files the model was given in a situation, and which names."""

    answered: dict[str, set[int]]
    beside: dict[str, set[int]]
    named: set[str]


def truth(folder: Path, *, is_text: bool) -> Truth:
    """Return what the model was given in a run, from the recorded requests.

    Of a harness whose calls are written as text, the answers are what a user says.
    """
    answers: dict[str, set[str]] = {}
    beside: set[str] = set()
    main = sub = 0
    extra: list[int] = []
    has_image = False
    made = requests(folder / "requests.jsonl")
    for request in made:
        dialect = dialect_of(request["path"])
        assert dialect is not None
        for call, text in dialect.received(request["body"]):
            if call is None and not is_text:
                beside.add(text)
            else:
                found = _LABEL.search(call or "")
                answers.setdefault(found[1] if found else "", set()).add(text)
        spent = sum(request["tokens"].values())
        if request["role"] == "plan" and request["plan"] != "sub":
            main += spent
        elif request["role"] == "plan":
            sub += spent
        else:
            extra.append(spent)
        has_image = has_image or workspace.IMAGE in json.dumps(request["body"])
    sums = {main, main + sub}
    for spent in extra[:_MOST_EXTRA]:
        sums |= {one + spent for one in sums}
    texts = {label: sorted(found) for label, found in answers.items()}
    return Truth(texts, sorted(beside), has_image, sums, len(made))


def given(known: Truth, situation: Situation, *, is_shared: bool) -> Given:
    """Return what the model was given in a situation, which shared its session or not."""
    texts = [
        text
        for key, found in known.answers.items()
        for text in found
        if key == label(situation) or not is_shared
    ]
    answered = workspace.delivered(texts)
    has_image = known.has_image and (not is_shared or situation.name == "read-image")
    # Some harnesses give the bytes of a picture as text.
    if has_image or any("IHDR" in text for text in texts):
        answered["assets/logo.png"] = set()
    return Given(answered, workspace.delivered(known.beside), workspace.named(texts))


def read(path: Path) -> Inspected | str:
    """Return the reading of a trace, or why there is none."""
    try:
        return inspect_trace(path, stated_ground_truth(_ALL, "the workspace"))
    except NoTraceError:
        return "no format of ours"
    except RetrievalEvalError as error:
        return " ".join(str(error).split())[-300:]


def facts(driver: Driver, version: str, known: Truth, found: Inspected, kind: str) -> list[str]:
    """Return what a reading says wrongly of the whole session."""
    wrong = []
    outcome, coverage = found.metrics.outcome, found.document.coverage
    if coverage.trace_format != kind.split()[0]:
        wrong.append(f"format {coverage.trace_format}")
    tokens = outcome["total_tokens"]
    # Of a run that was killed the last request may not have been recorded.
    is_cut = doubt_of_gaps(found.trial) == "cut_trace"
    is_least = is_cut and tokens is not None and tokens < max(known.tokens)
    if tokens is not None and tokens not in known.tokens and not is_least:
        wrong.append(f"tokens {tokens}, right {' or '.join(map(str, sorted(known.tokens)))}")
    if outcome["model"] not in {None, driver.model.rpartition("/")[2]}:
        wrong.append(f"model {outcome['model']}")
    if outcome["harness_version"] not in {None, driver.version or version}:
        wrong.append(f"version {outcome['harness_version']}")
    return wrong


def stated(found: Inspected) -> list[str]:
    """Return which facts of a session a reading states."""
    return [name for key, name in _FACTS.items() if found.metrics.outcome[key] is not None]


def part(trial: TrialEvents, situation: Situation) -> TrialEvents:
    """Return what a session that is shared shows of one situation.

    An event of a call that the harness named itself, such as one in a script, belongs to the last
    call before it that the model named.
    """
    mine = f"call_{label(situation)}_"
    events, is_mine = [], False
    for event in trial.events:
        if _LABEL.search(event.call_id):
            is_mine = mine in event.call_id
        if is_mine:
            events.append(event)
    attached = tuple(
        one for one in trial.beside.attached if one.call_id is None or mine in one.call_id
    )
    return replace(
        trial,
        events=events,
        beside=replace(trial.beside, attached=attached),
    )


def compare(situation: Situation, known: Given, trial: TrialEvents, path: Path) -> dict[str, Any]:
    """Return the row of one situation in one trace: what is wrong, and what is only possible."""
    silent = _silent(known, path)
    rows = {row.name: row for row in evidence_rows(trial)}
    claimed = _claimed(trial)
    reasons = Counter(
        cause.split(" (step")[0]
        for row in rows.values()
        if row.certainty == "possible"
        for cause in dict.fromkeys(row.causes)
    )
    return {
        "wrong": list(_files(situation, known, rows, claimed, silent)),
        "possible": dict(sorted(reasons.items())),
        "delivered_possible": sorted(
            file for file in known.answered if rows[file].certainty == "possible"
        ),
        "fewer_lines": sorted(
            file for file, lines in claimed.items() if known.answered.get(file, set()) - lines
        ),
        "given_unseen": sorted(file for file in silent if rows[file].certainty == "none"),
        "given_unread": sorted(
            file
            for file in known.beside
            if rows[file].certainty == "none" and file not in {*silent, *known.answered}
        ),
    }


def verdict(row: dict[str, Any]) -> str:
    if row["wrong"]:
        return "wrong"
    return "possible" if row["delivered_possible"] else "right"


def _silent(known: Given, path: Path) -> set[str]:
    """Return what the model was given unasked, and of which the trace has no line.

    Nothing in such a trace could tell, so that a reading that is silent, too, is not wrong.
    """
    files = {*known.beside, *(known.answered.keys() & set(workspace.UNASKED))}
    return files - _held(path)


@cache
def _held(path: Path) -> frozenset[str]:
    """Return the files of which a trace holds lines; a long one is shared by many situations."""
    parts = [part for part in path.rglob("*") if part.is_file()] if path.is_dir() else [path]
    texts = [part.read_text(encoding="utf-8", errors="replace") for part in parts]
    return frozenset(workspace.delivered(texts))


def _files(
    situation: Situation,
    known: Given,
    rows: dict[str, Row],
    claimed: dict[str, set[int]],
    silent: set[str],
) -> Iterator[str]:
    for file, row in rows.items():
        if file in workspace.UNDECIDED:
            continue
        shown = known.answered.get(file, set()) | known.beside.get(file, set())
        is_content = file in known.answered or file in known.beside
        is_listed = file in situation.lists and file in known.named
        if row.certainty == "certain":
            if not is_content and file not in known.named:
                yield f"false certain: {file}"
            elif not is_content and row.access == "opened":
                yield f"false certain, only its name was given: {file}"
        elif (
            row.certainty == "none" and file not in silent and (file in known.answered or is_listed)
        ):
            yield f"false none: {file}"
        more = claimed.get(file, set()) - shown
        if more and file in workspace.FILES:
            yield f"lines that were not given: {file} {min(more)}-{max(more)} ({len(more)})"


def _claimed(trial: TrialEvents) -> dict[str, set[int]]:
    """Return the lines that targets without a doubt state."""
    targets = [target for _, target in accesses(trial)]
    targets += [one.target for one in trial.beside.attached]
    lines: dict[str, set[int]] = {}
    for target in targets:
        text = workspace.FILES.get(str(target.file))
        if text is not None and target.doubt is None:
            found = lines.setdefault(str(target.file), set())
            for first, last in target.lines or ():
                found.update(range(first, last + 1))
            if target.is_whole:
                found.update(range(1, text.lines + 1))
    return {file: found for file, found in lines.items() if found}
