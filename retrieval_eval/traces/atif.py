"""ATIF trajectories: steps with tool calls and, in the same step, the observed results.

Source: the Agent Trajectory Interchange Format, versions 1.0 to 1.8. Results are joined by
``source_call_id``; one that lacks it belongs to the one call of a step with one call and one
result, and otherwise to none. Steps marked ``is_copied_context`` replay what happened
before and are left out. Embedded sub-agent trajectories follow the call that refers to them; a
reference to another file is not opened.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from retrieval_eval.records import ToolCall, ToolResult
from retrieval_eval.traces import atif_claude, openhands
from retrieval_eval.traces.atif_tokens import CLAUDE_CODE, COUNTS, StepTokens, declared_total
from retrieval_eval.traces.claude_lines import marked
from retrieval_eval.traces.clock import latest, unix_seconds
from retrieval_eval.traces.damage import (
    TRIMMED,
    TRUNCATED,
    is_placeholder,
    preview_of,
    whole_or_rest,
)
from retrieval_eval.traces.foreign import (
    amount_of,
    blocks_text,
    clean,
    dict_of,
    list_of,
    text_of,
)
from retrieval_eval.traces.lines import Complaints
from retrieval_eval.traces.reading import (
    CONTINUED_ELSEWHERE,
    SUBAGENT_ELSEWHERE,
    CallLog,
    Reading,
    Unreadable,
    arguments_of,
    is_summary,
)
from retrieval_eval.traces.served import states_exit_status
from retrieval_eval.traces.tokens import Usage, is_misstated

_VERSION = re.compile(r"ATIF-v(\d{1,6})(?:\.(\d{1,6}))?", re.IGNORECASE)
NEWEST_MINOR = 8
_DEEPEST_DELEGATION = 8
_FAILURES_ARE_EMPTY = frozenset({"gemini-cli", "qwen-coder", "goose"})
"""Agents whose trajectories lose the text of a failed call, so that an empty one says nothing."""


@dataclass(slots=True)
class _State:
    name: str
    agent: str
    log: CallLog
    flags: dict[str, None] = field(default_factory=dict)
    has_agent: bool = False
    started_at: float | None = None
    finished_at: float | None = None


def read_atif(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return what an ATIF document says, or why its version cannot be read."""
    version = _VERSION.fullmatch(text_of(document.get("schema_version")) or "")
    if version is None or int(version[1]) != 1:
        stated = str(document.get("schema_version"))[:60]
        return Unreadable(f"{name}: schema_version {stated} is not readable (expected ATIF-v1.x)")
    if not isinstance(document.get("steps"), list):
        return Unreadable(f"{name}: an ATIF trajectory without a list of steps")
    agent = dict_of(document.get("agent"))
    complaints = Complaints(name, "step")
    log = CallLog(complaints, are_ids_reused=True)
    state = _State(name, (text_of(agent.get("name")) or "").lower(), log)
    if int(version[2] or 0) > NEWEST_MINOR:
        state.flags["newer_minor_version"] = None
    if document.get("_corpus_trim_applied"):
        state.flags[TRIMMED] = None
    if text_of(document.get("continued_trajectory_ref")):
        state.flags[CONTINUED_ELSEWHERE] = None
    _take_document(state, document, "", is_subagent=False, depth=0)
    metrics = dict_of(document.get("final_metrics"))
    session = text_of(document.get("session_id"))
    return Reading(
        format=f"atif-1.{int(version[2] or 0)}",
        items=state.log.items(),
        session_ids=frozenset({session} if session else ()),
        harness=text_of(agent.get("name")),
        harness_version=text_of(agent.get("version")),
        model=text_of(agent.get("model_name")) or _model(document),
        started_at=state.started_at,
        finished_at=state.finished_at,
        cwd=_folder(agent),
        declared_tokens=declared_total(metrics),
        declared_cost_usd=amount_of(metrics.get("total_cost_usd")),
        flags=(*state.flags, *state.log.flags, *complaints.flags()),
        problems=complaints.sentences(),
        has_agent=state.has_agent,
    )


def _take_document(
    state: _State, document: Mapping[str, Any], pointer: str, *, is_subagent: bool, depth: int
) -> None:
    """Log all steps of a trajectory, then the embedded ones that no step refers to."""
    children: dict[str, tuple[int, Any]] = {}
    for index, child in enumerate(list_of(document.get("subagent_trajectories"))):
        key = text_of(dict_of(child).get("trajectory_id"))
        children[f"#{index}" if key is None or key in children else key] = (index, child)
    tokens = StepTokens(state.agent, pointer or state.name, is_subagent)

    def descend(key: str) -> None:
        index, child = children.pop(key)
        place = f"{pointer}/subagent_trajectories/{index}"
        if depth < _DEEPEST_DELEGATION:
            _take_document(state, dict_of(child), place, is_subagent=True, depth=depth + 1)

    n_before = state.log.n_calls
    before: Any = None
    for index, step in enumerate(list_of(document.get("steps"))):
        entry, place = dict_of(step), f"{pointer}/steps/{index}"
        if is_placeholder(entry) or _is_apart(before, entry.get("step_id")):
            state.flags[TRIMMED] = None
            state.log.add_gap()
        before = entry.get("step_id")
        if is_placeholder(entry):
            continue
        if not isinstance(step, dict):
            _complain(state, place, "expected an object")
        elif entry and not entry.get("is_copied_context"):
            if _is_summary(entry):
                state.log.note_summary(n_before)
            _take_usage(state, entry, tokens.of(entry, index), place)
            for key in _take_step(state, entry, place, is_subagent):
                if key in children:
                    descend(key)
    for key in list(children):
        descend(key)


def _take_usage(state: _State, step: Mapping[str, Any], usage: Usage | None, pointer: str) -> None:
    if is_misstated(step.get("metrics"), COUNTS):
        _complain(state, pointer, "the token counts are no numbers")
    elif usage is not None:
        state.log.add_usage(usage)


def _is_apart(before: Any, number: Any) -> bool:
    """Return whether steps are missing between two step numbers."""
    return isinstance(number, int) and isinstance(before, int) and number > before + 1


def _is_summary(step: Mapping[str, Any]) -> bool:
    extra = dict_of(whole_or_rest(step.get("extra"), keep_cut_text=False))
    if step.get("source") == "system" and dict_of(extra.get("context_management")):
        return True
    message = whole_or_rest(step.get("message"), keep_cut_text=True)
    return step.get("source") in ("user", "system") and is_summary(blocks_text(message))


def _take_step(
    state: _State, step: Mapping[str, Any], pointer: str, is_subagent: bool
) -> list[str]:
    """Log one step and return the ids of the embedded trajectories it refers to."""
    timestamp = unix_seconds(step.get("timestamp"))
    state.finished_at = latest(state.finished_at, timestamp)
    state.has_agent = state.has_agent or step.get("source") not in ("user", "system")
    if state.started_at is None and step.get("source") == "agent":
        state.started_at = timestamp
    extra = dict_of(whole_or_rest(step.get("extra"), keep_cut_text=False))
    results = _results(state, step, pointer)
    calls = _calls(state, step, extra, pointer)
    state.log.begin_step()
    for call_id, name, arguments in calls:
        if state.agent == openhands.HARNESS and len(calls) == 1:
            text = results[0].text if len(results) == 1 else None
            seen = openhands.repaired(name, arguments, step.get("message"), text)
            if seen is not None:
                arguments = seen
                if preview_of(step.get("tool_calls")) is None:
                    state.flags["argument_mismatch"] = None
        state.log.add(
            ToolCall(
                call_id=call_id or pointer,
                name=name,
                arguments=arguments,
                result=None,
                timestamp=timestamp,
                is_subagent=is_subagent or extra.get("is_sidechain") is True,
                cwd=text_of(extra.get("cwd")),
                where=f"{state.name}#{pointer}",
            )
        )
    names = {call_id: name for call_id, name, _ in calls}
    if len(calls) == len(results) == 1 and results[0].call_id is None and _is_single(step):
        call_id, name, _ = calls[0]
        results = [replace(results[0], call_id=call_id or pointer)]
        names = {call_id or pointer: name}
    for found in results:
        if found.call_id:
            told = _result(state, found, names.get(found.call_id, ""), extra, len(calls))
            if told is not None:
                state.log.join(found.call_id, told)
        elif found.text or not found.refers_to:
            state.log.flags["result_without_call"] = None
    return [key for found in results for key in found.refers_to]


def _is_single(step: Mapping[str, Any]) -> bool:
    """Return whether a step surely held one call and one result and no more."""
    return all(
        isinstance(entries, list) and len(entries) == 1
        for entries in (
            step.get("tool_calls"),
            dict_of(step.get("observation")).get("results"),
        )
    )


def _complain(state: _State, pointer: str, what: str) -> None:
    """Note a step that cannot be used; what it cost is unknown, and so is every later total."""
    state.log.complaints.note(f"{state.name}#{pointer}", what)
    state.log.add_gap()


def _objects(state: _State, value: Any, pointer: str, what: str) -> list[Mapping[str, Any]]:
    """Return the objects of a list; anything but a list of objects (or null) is complained of."""
    stated = [value] if isinstance(value, dict) else value
    found: list[Mapping[str, Any]] = [e for e in list_of(stated) if isinstance(e, dict)]
    if stated is not None and (not isinstance(stated, list) or len(found) < len(stated)):
        _complain(state, pointer, f"{what} are no list of objects")
    return found


def _calls(
    state: _State, step: Mapping[str, Any], extra: Mapping[str, Any], pointer: str
) -> list[tuple[str, str, Mapping[str, Any]]]:
    stated = step.get("tool_calls")
    if preview_of(stated) is not None:
        state.flags[TRUNCATED] = None
        stated = whole_or_rest(stated, keep_cut_text=False)
    calls = []
    for call in _objects(state, stated, pointer, "the tool calls"):
        name = text_of(call.get("function_name"))
        if name is not None:
            arguments = call.get("arguments", extra.get("raw_arguments"))
            calls.append((text_of(call.get("tool_call_id")) or "", name, arguments_of(arguments)))
        elif preview_of(step.get("tool_calls")) is None:
            _complain(state, pointer, "a tool call without a name")
    return calls


@dataclass(frozen=True, slots=True)
class _Found:
    call_id: str | None
    text: str
    has_content: bool
    is_truncated: bool
    extra: Mapping[str, Any]
    refers_to: tuple[str, ...]


def _results(state: _State, step: Mapping[str, Any], pointer: str) -> list[_Found]:
    stated = step.get("observation")
    is_cut = preview_of(stated) is not None
    if is_cut:
        state.flags[TRUNCATED] = None
    told = whole_or_rest(stated, keep_cut_text=True)
    if told is not None and not isinstance(told, dict):
        _complain(state, pointer, "the observation is no object")
    entries = _objects(state, dict_of(told).get("results"), pointer, "the results")
    are_failures_empty = state.agent in _FAILURES_ARE_EMPTY
    found = []
    for entry in entries:
        refs = [dict_of(ref) for ref in list_of(entry.get("subagent_trajectory_ref"))]
        if any(not text_of(ref.get("trajectory_id")) for ref in refs):
            state.flags[SUBAGENT_ELSEWHERE] = None
        content = entry.get("content")
        if not isinstance(content, str | list | None):
            _complain(state, pointer, "the content of a result is no text")
        found.append(
            _Found(
                text_of(entry.get("source_call_id")),
                blocks_text(content),
                content is not None and (content != "" or not are_failures_empty),
                is_cut and entry is entries[-1],
                dict_of(entry.get("extra")),
                tuple(key for ref in refs if (key := text_of(ref.get("trajectory_id")))),
            )
        )
    return found


def _result(
    state: _State, found: _Found, name: str, extra: Mapping[str, Any], n_calls: int
) -> ToolResult | None:
    """Return what a call was answered, or None where an empty result does not say how it ended."""
    own = extra if n_calls == 1 else {}
    if state.agent == CLAUDE_CODE:
        told = atif_claude.result(found.call_id or "", found.text, found.is_truncated, own)
        told = marked(replace(told, is_error=True)) if _is_error(found.extra) else told
        is_answer = found.has_content or told.is_error or bool(told.text or told.structured)
        return told if is_answer or found.refers_to else None
    if state.agent == openhands.HARNESS:
        told = openhands.result(name, found.text, found.is_truncated)
    else:
        told = ToolResult(found.text, None, _is_error(own), found.is_truncated)
    records = [found.extra, own, *(dict_of(e.get("tool_metadata")) for e in (found.extra, own))]
    details = dict_of(dict_of(extra.get("tool_call_details")).get(found.call_id or ""))
    records += [details, dict_of(details.get("metadata"))]
    has_ended = states_exit_status(told.text, *records)
    if told.is_error or _is_error(found.extra):
        return replace(told, is_error=True, is_unfinished=not has_ended)
    is_answer = found.has_content or has_ended or found.extra.get("success") is True
    return told if is_answer or found.refers_to else None


def _is_error(extra: Mapping[str, Any]) -> bool:
    flags = ("is_error", "isError", "tool_result_is_error")
    return any(extra.get(flag) is True for flag in flags) or extra.get("success") is False


def _model(document: Mapping[str, Any]) -> str | None:
    steps = map(dict_of, list_of(document.get("steps")))
    return next((model for step in steps if (model := text_of(step.get("model_name")))), None)


def _folder(agent: Mapping[str, Any]) -> str | None:
    folders = list_of(dict_of(agent.get("extra")).get("cwds"))
    return text_of(clean(folders[0])) if len(folders) == 1 else None
