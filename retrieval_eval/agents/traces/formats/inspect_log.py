"""Inspect's evaluation logs: one JSON document, or an ``.eval`` archive with a file a sample.

A log holds many samples, each of which is a trace. The tool events of a sample hold every call in
order, also those of sub-agents; where there are none, its messages do. Events about the sandbox are
an execution log, which the model did not see. Long texts lie under ``attachments``.

Members of newer archives are compressed with zstd. An archive is untrusted: sizes are bounded, and
nothing is unpacked to the disk.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import (
    DIALECTS,
    Dialect,
    Tool,
    read_nothing,
    read_unknown,
)
from retrieval_eval.agents.traces.formats import FORMATS, DocumentFormat, FileFormat, LineFormat
from retrieval_eval.agents.traces.reading import Reading, Unreadable, chosen
from retrieval_eval.agents.traces.results.base import (
    NOTHING,
    Found,
    Seen,
    distinct,
    joined,
    text_argument,
)
from retrieval_eval.agents.traces.results.ipython import read_ipython
from retrieval_eval.agents.traces.results.mentions import looks_like_file
from retrieval_eval.agents.traces.results.payload import is_empty_answer
from retrieval_eval.agents.traces.results.remote import list_remote
from retrieval_eval.agents.traces.shell.output import is_error_line
from retrieval_eval.agents.traces.transcript import Transcript
from retrieval_eval.agents.traces.untrusted import (
    at,
    blocks_text,
    clean,
    count_at,
    count_of,
    dict_at,
    dict_of,
    dicts_at,
    list_of,
    text_at,
    text_of,
    unix_seconds,
)
from retrieval_eval.io.files import Line, decode
from retrieval_eval.io.packed import PackedError, member, members
from retrieval_eval.records import CUT_HERE, RawTarget, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# Inspect: outputs that were too long are shown in part, between marks.

_CUT: Final = re.compile(
    r"\s*The output of your call to [^\n]{1,200} was too long to be displayed\.\s{1,20}"
    r"Here is a truncated version:\s{1,20}<START_TOOL_OUTPUT>\n"
)
_LONGEST_OPENING: Final = 1000
_TO_STDERR: Final = re.compile(r">&2\b|/dev/stderr\b")
_END: Final = "<END_TOOL_OUTPUT>"


def has_marks(text: str) -> bool:
    """Whether a text is an output that was cut, between its marks."""
    return _CUT.match(text[:_LONGEST_OPENING]) is not None


def cut_in_the_middle(text: str) -> str:
    r"""Return the two halves of an output that was cut, which the log joins without a mark.

    Examples
    --------
    >>> cut_in_the_middle("a.py\nz.py\n").split("\n")
    ['a.py', '[... output truncated ...]', 'z.py', '']
    """
    data = text.encode("utf-8", errors="replace")
    middle = len(data) // 2
    head, tail = (part.decode("utf-8", errors="ignore") for part in (data[:middle], data[middle:]))
    return "\n".join((head.removesuffix("\n"), CUT_HERE, tail.removeprefix("\n")))


def list_found(seen: Seen) -> Found:
    """Return what was found below a folder; nothing marks which names are folders.

    One that holds others is a folder; another without an ending may be one. Names that do not begin
    with the folder are those of another harness's tool of this name.
    """
    if is_empty_answer(seen.text):
        return NOTHING
    lines = seen.text.split("\n")
    names = [line for line in lines if line.strip() and line != CUT_HERE]
    folder = (text_argument(seen.arguments, ("path",)) or ".").rstrip("/")
    if not all(name.startswith(f"{folder}/") for name in names):
        return list_remote(seen)
    names = [name.removeprefix("./") for name in names]
    parents = {posixpath.dirname(name) for name in names}
    targets = [
        RawTarget(
            joined(seen.cwd, name), "listed", doubt=None if looks_like_file(name) else "opaque_call"
        )
        for name in names
        if name not in parents
    ]
    return Found(distinct(targets), is_opaque=seen.is_truncated)


def answer(call: ToolCall) -> ToolResult:
    r"""Return the result of a call without the marks around an output that was cut.

    Examples
    --------
    >>> opening = "The output of your call to bash was too long to be displayed.\n"
    >>> opening += "Here is a truncated version:\n<START_TOOL_OUTPUT>\n"
    >>> shown = ToolResult(f"{opening}a.py:3:x\nz.py:3:x\n<END_TOOL_OUTPUT>")
    >>> answer(ToolCall("c", "bash", {}, shown)).text
    'a.py:3:x\n[... output truncated ...]\nz.py:3:x'
    """
    result = call.result or ToolResult("")
    if call.name == "grep" and not call.arguments.get("output_mode"):
        # The mode of its searches is that of content, where nothing else is requested.
        result = replace(result, structured={"mode": "content"})
    opening = _CUT.match(result.text[:_LONGEST_OPENING])
    if opening is None:
        return _without_gap(call, result) if call.name == "bash" else result
    shown = result.text[opening.end() :].rstrip().removesuffix(_END).removesuffix("\n")
    return replace(result, text=cut_in_the_middle(shown))


def _without_gap(call: ToolCall, result: ToolResult) -> ToolResult:
    """Return a command's output without the empty line behind what it wrote to stderr.

    What it wrote there stands first; it is known where each line is an error, or where the command
    says that it writes there. Else the empty line may be one of a file.
    """
    errors, gap, shown = result.text.partition("\n\n")
    command = text_argument(call.arguments, ("command", "cmd")) or ""
    is_stated = _TO_STDERR.search(command) is not None
    if not gap or not (is_stated or all(map(is_error_line, errors.split("\n")))):
        return result
    return replace(result, text=f"{errors}\n{shown}")


DIALECTS.add(
    "inspect-ai",
    Dialect(
        harnesses=frozenset({"inspect-ai", "inspect_ai", "inspect"}),
        answer=answer,
        delegating=frozenset({"handoff"}),
        cut=(
            "an output of more than 16 KiB stands between marks: half of that from its beginning "
            "and half from its end, joined without a mark (before 0.3.130 its beginning alone)"
        ),
        finished=(
            "the event's error, whose type is approval, parsing, timeout, cancelled or limit; what "
            "was printed before a timeout is lost; bash states no exit status"
        ),
        delegated=(
            "handoff, agents as tools and deepagent's agent; their calls are events of the same "
            "log, below spans of their own"
        ),
        # The reply to an answer without a call: nothing was carried out.
        refusals=(r"Please proceed to the next step using your best judgement\b",),
        failures=(r"Path is a directory, not a file: ", r"Error (?:reading|listing): "),
        empty=(r"No files found in: ",),
        tools=(
            Tool(("transfer_to_*", "web_browser*"), "other", read_nothing),
            Tool(("python",), "other", read_ipython),
            # Keystrokes may have shown any file.
            Tool(("bash_session",), "other", read_unknown),
            Tool(("list_files",), "file_search", list_found),
        ),
        source=(
            "UKGovernmentBEIS/inspect_ai 499e6152 (0.3.260) and 0.3.285, read in their sources; "
            "20 logs of 0.3.41 to 0.3.154 seen, two of them with calls of tools"
        ),
    ),
)


# --------------------------------------------------------------------------------------------------
# Inspect's evaluation logs: one JSON document, or an ``.eval`` archive with a file a sample.

FORMAT: Final = "inspect"
HARNESS: Final = "inspect-ai"

_ATTACHMENT: Final = "attachment://"
_DEEPEST: Final = 40
_NOT_RUN: Final = ("approval", "parsing", "timeout", "cancelled")
"""Kinds of error of a call that was refused or did not finish."""

_MOST_MEMBERS: Final = 100_000


class _Sample(Transcript):
    """A sample's transcript, and which spans its events lie in."""

    def __init__(self, name: str, attachments: Mapping[str, Any]) -> None:
        super().__init__(name, "step", answer=answer, harness=HARNESS, holds_run=True)
        self.attachments = attachments
        self.spans: dict[str, tuple[str | None, str]] = {}
        self.in_spans: dict[str, str] = {}
        """Calls by the spans that they lie in."""
        self.n_models = 0


def read_log(document: Mapping[str, Any], name: str) -> Reading | Unreadable:
    """Return the reading of a log in one document, or the samples among which to choose."""
    header = dict_of(document.get("eval"))
    samples = {_sample_name(sample): sample for sample in _samples(document)}
    if not samples:
        return Unreadable(f"{name}: the log holds no sample")
    return chosen(name, tuple(samples), lambda sample: read_sample(samples[sample], header, name))


def read_sample_lines(lines: Iterable[Line], name: str) -> Reading | Unreadable:
    """Return the reading of samples that were exported one a line, or of one sample."""
    values = (line.value for line in lines if isinstance(line.value, dict))
    samples = {_sample_name(value): value for value in values if _is_sample(value)}
    if not samples:
        return Unreadable(f"{name}: the log holds no sample")
    return chosen(name, tuple(samples), lambda sample: read_sample(samples[sample], {}, name))


def _samples(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [sample for sample in list_of(document.get("samples")) if isinstance(sample, dict)]


def _sample_name(sample: Mapping[str, Any]) -> str:
    """Return the name that an archive gives the file of a sample."""
    stated = sample.get("id")
    number = stated if isinstance(stated, int) else text_of(stated) or "unnamed"
    return f"{number}_epoch_{count_of(sample.get('epoch')) or 1}"


def read_sample(sample: Mapping[str, Any], header: Mapping[str, Any], name: str) -> Reading:
    """Return the reading of one sample of a log.

    Parameters
    ----------
    sample
        The sample as a log keeps it.
    header
        What the log says of the evaluation.
    name
        The name of the log in messages.
    """
    said = _Sample(name, dict_at(sample, "attachments"))
    events = list_of(sample.get("events"))
    is_told_by_events = any(at(event, "event") == "tool" for event in events)
    for n, event in enumerate(events):
        _take_event(said, event, f"{name}#{n}", log_calls=is_told_by_events)
    if not is_told_by_events:
        said.by(None)
        for n, message in enumerate(list_of(sample.get("messages"))):
            said.at(f"{name}#messages/{n}")
            _take_message(said, message)
    usages = [dict_of(usage) for usage in dict_at(sample, "model_usage").values()]
    for usage in usages:
        said.paid(usage.get("total_cost"))
    said.session(sample.get("uuid"))
    said.delegated = _delegated(said)
    said.has_agent = said.has_agent or said.n_calls > 0
    ends = ("error", "limit")
    said.ending = tuple(f"sample_{end}" for end in ends if isinstance(sample.get(end), dict))
    earlier = list_of(sample.get("error_retries"))
    if earlier:
        # Usage, cost and events of a sample are those of its last attempt.
        said.ending = (*said.ending, "sample_retried")
    models = [*dict_at(sample, "model_usage")]
    return said.reading(
        FORMAT,
        n_requests=0 if said.n_answers else said.n_models,
        harness_version=text_at(header, "packages", "inspect_ai"),
        model=said.model or text_at(header, "model") or (models[0] if models else None),
        declared_tokens=sum((*map(_total, usages), *map(_tokens_of_attempt, earlier))) or None,
    )


def _delegated(said: _Sample) -> dict[str, str]:
    """Return which sub-agent each call started: the one whose span lies in the call's."""
    found: dict[str, str] = {}
    for agent in sorted(said.sub_agents):
        span: str | None = agent
        for _ in range(_DEEPEST):
            if span in said.in_spans:
                found.setdefault(said.in_spans[span], agent)
                break
            span, _kind = said.spans.get(span or "", (None, ""))
    return found


def _take_event(
    said: _Sample,
    event: Any,
    where: str,
    *,
    log_calls: bool,
    inside: str | None = None,
    depth: int = _DEEPEST,
) -> None:
    """Log what an event says; ``inside`` is the call whose events older logs keep in it."""
    kind = at(event, "event")
    is_timed = kind in ("tool", "model")
    said.at(where, unix_seconds(at(event, "timestamp")) if is_timed else None, starts=is_timed)
    if not isinstance(event, dict):
        said.note("expected a JSON object")
        return
    if is_timed:
        said.until(unix_seconds(event.get("completed")))
    if kind == "span_begin" and (span := text_at(event, "id")):
        said.spans[span] = (text_at(event, "parent_id"), text_at(event, "type") or "")
    elif kind == "model":
        _take_model(said, event, inside)
    elif kind == "compaction" and said.n_calls:
        said.note_summary()
    elif kind == "tool" and log_calls:
        _take_tool(said, event, inside)
        inside = text_at(event, "id") or where
    nested = list_of(event.get("events")) if kind in ("tool", "subtask") and depth else []
    for n, inner in enumerate(nested):
        place = f"{where}/{n}"
        _take_event(said, inner, place, log_calls=log_calls, inside=inside, depth=depth - 1)


def _take_model(said: _Sample, event: Mapping[str, Any], inside: str | None) -> None:
    said.has_agent = True
    said.n_models += 1
    said.model = said.model or text_at(event, "model")
    said.by(inside or _sub_agent(said, text_at(event, "span_id")))
    said.sub_agents.update(filter(None, (said.agent,)))
    usage = dict_at(event, "output", "usage")
    output, total = count_at(usage, "output_tokens"), _total(usage)
    said.used(event.get("uuid"), max(total - output, 0), min(output, total))


def _tokens_of_attempt(attempt: Any) -> int:
    """Return the tokens of an attempt that ended in an error and was repeated."""
    events = list_of(dict_of(attempt).get("events"))
    models = (dict_of(event) for event in events if at(event, "event") == "model")
    return sum(_total(dict_at(event, "output", "usage")) for event in models)


def _total(usage: Mapping[str, Any]) -> int:
    """Return the tokens of a usage, where what a cache held is counted beside the input."""
    parts = ("input_tokens", "output_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
    return count_at(usage, "total_tokens") or count_at(usage, *parts)


def _take_tool(said: _Sample, event: Mapping[str, Any], inside: str | None) -> None:
    span = text_at(event, "span_id")
    said.by(inside or _sub_agent(said, span, is_tool=True))
    result = None
    if event.get("pending") is not True and "result" in event:
        result = _result(said, event["result"], event.get("error"))
    arguments = _resolved(said, event.get("arguments"))
    call = said.call(event.get("function"), arguments, event.get("id"), result=result)
    if call is None:
        return
    said.sub_agents.update(filter(None, (said.agent,)))
    if span is not None and said.spans.get(span, (None, ""))[1] == "tool":
        said.in_spans.setdefault(span, call.call_id)


def _take_message(said: _Sample, message: Any) -> None:
    if not isinstance(message, dict):
        said.note("expected a JSON object")
        return
    role, text = message.get("role"), blocks_text(message.get("content"))
    said.has_agent = said.has_agent or role == "assistant"
    if role == "assistant":
        said.spoke(text)
        for n, stated in enumerate(dicts_at(message, "tool_calls")):
            call_id = text_at(stated, "id") or f"{said.where}#{n}"
            said.call(stated.get("function"), _resolved(said, stated.get("arguments")), call_id)
    elif role in ("user", "tool"):
        said.heard(text, is_users=role == "user")
    if role == "tool":
        result = _result(said, message.get("content"), message.get("error"))
        said.answer(message.get("tool_call_id"), result)


def _result(said: _Sample, shown: Any, error: Any) -> ToolResult:
    """Return a result; the model saw the message of an error in its place."""
    text, kind = blocks_text(_as_text(_resolved(said, shown))), text_at(error, "type")
    has_output = bool(text.strip())
    # What was printed up to a limit of its size, or before the call was ended, was shown.
    is_cut = kind in ("limit", "output_limit") and has_output
    is_stopped = kind in ("timeout", "cancelled") and has_output
    if is_cut and not has_marks(text):
        text = f"{text.rstrip()}\n{CUT_HERE}"
    is_stated = bool(dict_of(error))
    if is_stated:
        text = text or blocks_text(_resolved(said, at(error, "message")))
    is_error = is_stated and not is_cut
    # An error without an output: only the error's message was shown.
    is_unfinished = is_error and not is_stopped and (kind in _NOT_RUN or not has_output)
    return ToolResult(text, None, is_error, is_unfinished=is_unfinished, is_stopped=is_stopped)


def _as_text(value: Any) -> Any:
    """Return the result of a tool as text or content; a number or truth value is its own text."""
    return value if isinstance(value, (str, list)) or value is None else str(clean(value))


def _resolved(said: _Sample, value: Any, depth: int = _DEEPEST) -> Any:
    """Return a value with the texts that lie under ``attachments`` in their places."""
    if isinstance(value, str):
        if not value.startswith(_ATTACHMENT):
            return value
        return text_of(said.attachments.get(value.removeprefix(_ATTACHMENT))) or value
    if isinstance(value, dict) and depth:
        return {key: _resolved(said, inner, depth - 1) for key, inner in value.items()}
    if isinstance(value, list) and depth:
        return [_resolved(said, inner, depth - 1) for inner in value]
    return value


def _sub_agent(said: _Sample, span: str | None, *, is_tool: bool = False) -> str | None:
    """Return the span of the sub-agent that an event lies in, or None.

    That is an agent's span inside another agent's or a tool's, or a tool's span in which a model or
    another tool was called. The agent of the sample itself lies in neither. The event of a tool
    (``is_tool``) lies in a span of its own.
    """
    found: str | None = None
    for place in range(_DEEPEST):
        if span is None or span not in said.spans:
            return None
        parent, kind = said.spans[span]
        is_own = is_tool and place == 0 and kind == "tool"
        if kind in ("tool", "handoff") and not is_own:
            return found or span
        if kind == "agent":
            if found is not None:
                return found
            found = span
        span = parent
    return None


# --------------------------------------------------------------------------------------------------
# The archive. Its header lies in ``header.json``, or in the journal of a log that was not finished.


def read_archive(path: Path, name: str) -> Reading | Unreadable:
    """Return the reading of an archive with one sample, or the samples among which to choose."""
    try:
        found = members(path)
    except PackedError as error:
        return Unreadable(f"{name}: {error}")
    if len(found) > _MOST_MEMBERS:
        return Unreadable(f"{name}: the archive holds more than {_MOST_MEMBERS:,} files")
    samples = {
        entry.removeprefix("samples/").removesuffix(".json"): entry
        for entry in found
        if entry.startswith("samples/") and entry.endswith(".json")
    }
    if not samples:
        shown = ", ".join(sorted(found)[:5])
        what = f"found a zip archive with {shown}" if found else "found an empty zip archive"
        return Unreadable(f"{name}: not a known trace format ({what})", is_unknown=True)
    headers = [entry for entry in ("header.json", "_journal/start.json") if entry in found]

    def read(sample: str) -> Reading | Unreadable:
        header: Any = {}
        for entry in headers[:1]:
            header = _document(path, entry, name)
        body = _document(path, samples[sample], name)
        if isinstance(body, Unreadable):
            return body
        stated = dict_of(dict_of(header).get("eval"))
        return read_sample(dict_of(body), stated, f"{name}/{samples[sample]}")

    return chosen(name, tuple(sorted(samples, key=_natural)), read)


def _natural(name: str) -> tuple[tuple[int, str], ...]:
    """Return the order of a name in which numbers have that of their value."""
    return tuple(
        (int(part[:18]), "") if part.isascii() and part.isdigit() else (-1, part)
        for part in re.split(r"(\d+)", name)
    )


def _document(path: Path, entry: str, name: str) -> Any:
    """Return a decoded member of the archive, or why it cannot be read."""
    place = f"{name}/{entry[:200]}"
    try:
        text = member(path, entry).decode("utf-8")
    except PackedError as error:
        return Unreadable(f"{place}: {error}")
    except UnicodeDecodeError:
        return Unreadable(f"{place}: not UTF-8")
    value, problem = decode(text)
    return Unreadable(f"{place}: {problem}") if problem is not None else value


def _is_log(document: Mapping[str, Any]) -> bool:
    return isinstance(document.get("eval"), dict) and isinstance(document.get("samples"), list)


def _is_sample(document: Mapping[str, Any]) -> bool:
    return (
        "epoch" in document
        and isinstance(document.get("messages"), list)
        and ("events" in document or "model_usage" in document)
    )


_EXAMPLE: Final[Mapping[str, Any]] = {
    "id": "task-7",
    "epoch": 1,
    "messages": [],
    "model_usage": {"openai/gpt-x": {"input_tokens": 10, "output_tokens": 2, "total_tokens": 12}},
    "events": [
        {"event": "model", "timestamp": "2026-01-05T10:00:00+00:00", "model": "openai/gpt-x"},
        {
            "event": "tool",
            "timestamp": "2026-01-05T10:00:01+00:00",
            "id": "c",
            "function": "bash",
            "arguments": {"cmd": "cat /repo/a.py"},
            "result": "attachment://1f",
            "error": None,
        },
    ],
    "attachments": {"1f": "x = 1"},
}


def _example_archive() -> bytes:
    """Return an archive with one sample."""
    import zipfile
    from io import BytesIO
    from json import dumps

    target = BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("header.json", dumps({"eval": {"model": "openai/gpt-x"}}))
        archive.writestr("samples/task-7_epoch_1.json", dumps(_EXAMPLE))
    return target.getvalue()


_COUNTERS: Final = (
    "the sample's totals by model, sub-agents and retries within it inside; tokens read from and "
    "written to a cache stand beside the input and are added"
)
_ZIP: Final = b"PK\x03\x04"


def _is_zip(head: bytes) -> bool:
    return head.startswith(_ZIP)


FORMATS.add(
    "inspect-json",
    DocumentFormat(
        recognises=_is_log,
        read=read_log,
        keeps=("times", "tokens", "cost", "model", "version", "sub-agents"),
        counters=_COUNTERS,
        example={"version": 2, "status": "success", "eval": {"model": "m"}, "samples": [_EXAMPLE]},
        priority=2,
    ),
)
FORMATS.add(
    "inspect-samples",
    LineFormat(
        recognises=_is_sample,
        read=read_sample_lines,
        keeps=("times", "tokens", "cost", "model", "version", "sub-agents"),
        counters=_COUNTERS,
        example=(_EXAMPLE,),
        priority=2,
    ),
)
FORMATS.add(
    "inspect-eval",
    FileFormat(
        recognises=_is_zip,
        read=read_archive,
        keeps=("times", "tokens", "cost", "model", "version", "sub-agents"),
        counters=_COUNTERS,
        example=_example_archive(),
        file_names=("*.eval",),
    ),
)
