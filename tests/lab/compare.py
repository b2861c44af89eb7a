"""What the model was given, against what we read from the trace of the run."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from retrieval_eval.agents.events import TrialEvents
from retrieval_eval.agents.events.evidence import accesses, doubt_of_gaps
from retrieval_eval.agents.runs.trial import Inspected, inspect_trace
from retrieval_eval.agents.traces import NoTraceError, SeveralTracesError
from retrieval_eval.agents.truth import stated_ground_truth
from retrieval_eval.cli.trace import _Row as Row
from retrieval_eval.cli.trace import _rows as evidence_rows
from retrieval_eval.errors import RetrievalEvalError
from tests.lab import workspace
from tests.lab.drivers import Driver, label
from tests.lab.model import CACHED, dialect_of, requests
from tests.lab.run import STARTS
from tests.lab.situations import Situation

_ALL: Final = [*workspace.FILES, "assets/logo.png", *workspace.UNDECIDED]
_LABEL: Final = re.compile(r"call_([a-z]+)_(\d+)_\d+")
_MOST_EXTRA: Final = 6
_PRICED: Final = 1e-6
# Some traces keep whole seconds, and a harness works before it asks and after it was answered.
_LATE: Final = 3.0
RIGHT: Final = "right"
NOT_STATED: Final = "not stated"


class Truth(NamedTuple):
    """What the requests of a run show.

    ``answers`` are the texts that calls were answered with, by the label of the call's situation;
    ``beside`` the other texts that the model did not write; ``sums`` the tokens and costs that a
    trace may state: with sub-agents and requests beside the plan or without. ``asked`` are the
    times at which the model was asked, by number of the request; ``starts`` when the harness was
    started and when it ended.
    """

    answers: dict[str, list[str]]
    beside: list[str]
    has_image: bool
    sums: set[tuple[int, float]]
    requests: int
    asked: dict[int, float]
    starts: list[tuple[float, float]]


class Given(NamedTuple):
    """Which lines of which files the model was given in a situation, and which names."""

    answered: dict[str, set[int]]
    beside: dict[str, set[int]]
    named: set[str]


def truth(driver: Driver, folder: Path) -> Truth:
    """Return what the model was given in a run, from the recorded requests.

    Of a harness whose calls are written as text, the answers are what a user says.
    """
    is_text = driver.written is not None
    answers: dict[str, set[str]] = {}
    beside: set[str] = set()
    spent: dict[str, list[tuple[int, float]]] = {"plan": [], "then": [], "sub": [], "extra": []}
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
        role = request["role"] if request["role"] == "plan" else "extra"
        role = request["plan"] if role == "plan" and request["plan"] in spent else role
        spent[role].append(_spent(driver, **request["tokens"]))
        has_image = has_image or workspace.IMAGE in json.dumps(request["body"])
    main = _sum([*spent["plan"], *spent["then"]])
    sums = {main, _sum([main, *spent["sub"]])}
    # Of a resumed run some traces hold the newest part alone.
    sums |= {_sum(spent["then"])} if spent["then"] else set()
    for one in spent["extra"][:_MOST_EXTRA]:
        sums |= {_sum([one, other]) for other in sums}
    texts = {label: sorted(found) for label, found in answers.items()}
    asked = {one["number"]: one["at"] for one in made if one["role"] == "plan"}
    lines = (folder / STARTS).read_text(encoding="utf-8").splitlines()
    starts = [(float(begun), float(ended)) for begun, ended in map(str.split, lines)]
    return Truth(texts, sorted(beside), has_image, sums, len(made), asked, starts)


def _spent(driver: Driver, *, input: int, output: int) -> tuple[int, float]:  # noqa: A002
    """Return the tokens of a request and what they cost."""
    new, cached, made = driver.prices or (0, 0, 0)
    cost = ((input - CACHED) * new + CACHED * cached + output * made) / 1e6
    return input + output, cost


def _sum(spent: Sequence[tuple[int, float]]) -> tuple[int, float]:
    return sum(tokens for tokens, _ in spent), sum(cost for _, cost in spent)


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


def read(path: Path, kind: str) -> Inspected | str:
    """Return the reading of a trace of a format, or why there is none."""
    truth = stated_ground_truth(_ALL, "the workspace")
    try:
        try:
            found = inspect_trace(path, truth)
        except SeveralTracesError as error:
            # A fork lies behind the session that it began as.
            found = inspect_trace(path, truth, sample=error.names[-1])
    except NoTraceError:
        return "no format of ours"
    except RetrievalEvalError as error:
        return " ".join(str(error).split())[-300:]
    form = found.document.coverage.trace_format
    return found if form == kind else f"format {form}"


def facts(driver: Driver, version: str, known: Truth, found: Inspected) -> dict[str, str]:
    """Return of each fact of a session whether our reading states it, and what is wrong with it."""
    outcome = found.metrics.outcome
    stated: dict[str, str] = {}
    tokens, cost = outcome["total_tokens"], outcome["cost_usd"]
    # Of a run that was killed the last request may not have been recorded.
    is_cut = doubt_of_gaps(found.trial) == "cut_trace"
    most = max(known.sums)
    sums = {one for one, _ in known.sums}
    if tokens is not None:
        is_right = tokens in sums or (is_cut and tokens < most[0])
        stated["tokens"] = "" if is_right else f"{tokens}, right {_or(sums)}"
    if cost is not None and driver.prices is not None:
        costs = {one for _, one in known.sums}
        is_right = any(abs(cost - one) < _PRICED for one in costs) or (is_cut and cost < most[1])
        stated["cost"] = "" if is_right else f"{cost:g}, right {_or(costs)}"
    model, release = driver.model.rpartition("/")[2], driver.version or version
    if outcome["model"] is not None:
        stated["model"] = "" if outcome["model"] == model else outcome["model"]
    if outcome["harness_version"] is not None:
        stated["version"] = (
            "" if outcome["harness_version"] == release else outcome["harness_version"]
        )
    if found.trace.started_at is not None:
        stated["times"] = "; ".join(_times(known, found, is_cut=is_cut))
    names = ("tokens", "cost", "times", "model", "version")
    return {name: _found(name, stated.get(name)) for name in names}


def _found(name: str, wrong: str | None) -> str:
    return NOT_STATED if wrong is None else f"{name} {wrong}" if wrong else RIGHT


def _or(values: Iterable[float]) -> str:
    return " or ".join(f"{value:.10g}" for value in sorted(values))


def _times(known: Truth, found: Inspected, *, is_cut: bool) -> Iterator[str]:
    """Yield what a reading says wrongly of when the session and its calls were."""
    trace, asked = found.trace, known.asked.values()
    runs = [[at for at in asked if begun < at < ended] for begun, ended in known.starts]
    starts = [(begun, min(run)) for (begun, _), run in zip(known.starts, runs, strict=True) if run]
    last, ended = max(asked), known.starts[-1][1]
    started, finished = trace.started_at, trace.finished_at
    if started is not None and not any(a - _LATE < started < b + _LATE for a, b in starts):
        yield f"begun {started - min(asked):+.1f} s from the first request"
    if finished is not None and not (
        (is_cut or last - _LATE < finished) and finished < ended + _LATE
    ):
        yield f"ended {finished - last:+.1f} s from the last request"
    late = [
        event.timestamp - known.asked[int(called[2])]
        for event in found.trial.events
        if event.timestamp is not None
        and (called := _LABEL.search(event.call_id)) is not None
        and int(called[2]) in known.asked
    ]
    if late and not (min(late) > -_LATE and max(late) < _LATE):
        yield f"calls {min(late):+.1f} to {max(late):+.1f} s from what asked for them"


def roles(situation: Situation, trial: TrialEvents) -> dict[str, str]:
    """Return whether our reading knows calls of MCP and of sub-agents for what they are."""
    kinds = {do.kind for turn in situation.turns for do in turn}
    found = {}
    for name, is_asked, is_seen in (
        ("MCP", "mcp" in kinds, any(event.is_mcp for event in trial.events)),
        ("sub-agents", bool(situation.sub), any(event.is_subagent for event in trial.events)),
    ):
        if is_asked or is_seen:
            wrong = "where none was asked for" if is_seen and not is_asked else ""
            found[name] = _found(name, wrong if is_seen else None)
    return found


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
