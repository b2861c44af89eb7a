"""The content of one trace file, before files are joined into a trace."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.dialects import saved_path
from retrieval_eval.agents.traces.served import is_refusal
from retrieval_eval.agents.traces.tokens import Gap, Item, Usage
from retrieval_eval.agents.traces.untrusted import clean, earliest
from retrieval_eval.io.files import Line
from retrieval_eval.io.spooled import Spooled, like
from retrieval_eval.records import Attached, ToolCall, ToolResult

# --------------------------------------------------------------------------------------------------
# Answers without a call that can be read: whether the agent worked, or only talked.

_LONGEST_COMPLAINT: Final = 600
_LONGEST_ANSWER: Final = 20_000

_CALL: Final = r"(?:tool|function)[ _](?:call|use|invocation)"
_OUTPUT: Final = rf"(?:outputs?|responses?|answers?|repl(?:y|ies)|messages?|completions?|{_CALL}s?)"
_FORM: Final = (
    rf"(?:{_CALL}s?|tools?|functions?|actions?|commands?|format(?:ted|ting)?|pars(?:ed?|ing|able)"
    r"|(?:\w{1,20}[ ])?(?:code[ ])?blocks?|json|xml|tags?)\b"
)
_COMPLAINT: Final = re.compile(
    # Your last output did not use any tool calls.
    rf"""(?xi)
      \b(?:(?:the|previous|last|model|your)[ ](?:\w{{1,20}}[ ]){{0,3}}?{_OUTPUT}
        |your[ ](?:\w{{1,20}}[ ]){{0,3}}?(?:actions?|commands?)|the[ ]action)\b[^.!?]{{0,80}}?
        (?:\b(?:not|no|without|invalid|malformed|missing|incorrect(?:ly)?|unable|cannot|must
          |multiple|several|fail(?:ed|s)?|errors?)\b|n't\b)
        (?:[^.!?]{{0,120}}?\b{_FORM}|\s{{0,3}}[:.!])
    """
    # No action was found. Found 0 actions.
    rf"""
    | \b(?:no|zero|0|without[ ](?:a|an|any))[ ](?:valid[ ]|executable[ ]|single[ ])?{_FORM}[ ]
        (?:was[ ]|were[ ]|is[ ]|are[ ]|could[ ]be[ ]|ha(?:s|ve)[ ]been[ ])?
        (?:found|detected|provided|given|parsed|made|present|recogni[sz]ed|in[ ](?:your|the))\b
    | \bfound[ ](?:\d{{1,9}}|no|zero|multiple|several)[ ]{_FORM}
    """
    # You did not use a tool.
    rf"""
    | \byou[ ](?:did[ ]not|didn't|have[ ]not|haven't|must|forgot[ ]to|failed[ ]to|need[ ]to|should)
        [ ](?:\w{{1,20}}[ ]){{0,3}}?(?:used?|call|make|made|provided?|included?|invoked?|give|given
          |respond|answer|reply|output)\b[^.!?]{{0,60}}?\b{_FORM}
    """
    # Please respond with exactly one action.
    rf"""
    | \b(?:always|make[ ]sure|ensure|retry|respond|reply|answer|provide|use|include|follow|output)\b
        [^.!?]{{0,80}}?\b(?:exactly[ ]one|one[ ]and[ ]only[ ]one|single|valid|proper|correct
          |required|specified|following|expected)[ ](?:\w{{1,20}}[ ]){{0,2}}?{_FORM}
    """
    # Format error. Could not parse the response. Invalid JSON.
    rf"""
    | \A\W{{0,9}}(?:error\W{{1,4}})?
        (?:format|pars(?:e|er|ing)|json(?:[ ]?decode)?|{_CALL})[ ]?error\b
    | \brepeated[ ](?:\w{{1,20}}[ ]){{0,2}}?format\b
    | \b(?:could[ ]not|couldn't|cannot|can't|unable[ ]to|failed[ ]to)[ ](?:parse|extract|decode)\b
    | \binvalid[ ](?:or[ ]\w{{1,20}}[ ])?(?:{_OUTPUT}|json|xml|format|action)\b
    """
    # Please go on with the task.
    r"""
    | \b(?:continue|proceed|keep)\b[^.!?]{0,60}?
        \b(?:working|task|approach|next[ ]step|judge?ment)\b
    """
)
_SPACES: Final = re.compile(r"[\s*_`]+")


def complains_of_format(reply: str) -> bool:
    r"""Whether a harness says that it could not read a call in an answer, so that none was made.

    Examples
    --------
    >>> complains_of_format("Your output was not formatted correctly. You must always include one")
    True
    >>> complains_of_format("No action was found."), complains_of_format("a.py\\nb.py")
    (True, False)
    """
    opening = reply[:_LONGEST_COMPLAINT]
    return is_refusal(opening) or _COMPLAINT.search(_SPACES.sub(" ", opening)) is not None


_HOLDS_CALL: Final = re.compile(
    r"""(?x)
      <\|?/?(?:[a-z]{1,30}_[a-z_]{1,30}|function|tool|invoke|commands?|bash|action|execute|run|shell
        |search|keystrokes)\b[^>\n]{0,200}>
    | \[TOOL_CALLS?\]
    | "(?:name|tool|tool_name|tool_calls?|commands?|cmd|action|function|function_call|arguments
        |keystrokes)"\s{0,9}:
    | ^[ \t]{0,9}(?:\*\*)?(?:(?i:actions?|commands?|tool(?:[ ]call)?|function(?:[ ]call)?)
        (?:[ ]input)?)(?:\*\*)?:
    | ^[ \t]{0,9}(?:\$[ ]\S|[a-z_]\w{0,60}\([^\n]{0,2000}\)[ \t]{0,9}$)
    """,
    re.MULTILINE,
)
_FENCE: Final = re.compile(r"[ \t]{0,3}(?:```|~~~)[ \t]{0,3}([^\n`~]{0,60})")
_TO_RUN: Final = re.compile(
    r"(?i)\w{0,30}(?:sh|shell|console|terminal|cmd|command|tool\w{0,20}|action|run|execute|json|xml)\b"
    r"|\s*\Z"
)
"""The language of a block that may be run; one of a programming language shows code."""

_IS_OUTPUT: Final = re.compile(
    r"""(?xi)\s{0,9}(?:
      \W{0,4}(?:observations?|(?:execution|command|tool|function|action)?[ _]?
        (?:results?|outputs?|responses?))\b[^\n]{0,80}:
    | <(?:output|returncode|results?|observation|tool_\w{1,20}|function_\w{1,20}|stdout|stderr
        |exit_code|response)\b
    | new[ ]terminal[ ]output | (?:stdout|stderr|exit[ ](?:code|status)|returncode)\b
    | \{\s{0,9}"(?:output|returncode|stdout|results?|exit_code|observation)"
    ) | .{0,600}?\((?:open[ ]file|current[ ]directory):""",
    re.DOTALL,
)
_WORDS: Final = 3


def holds_call(answer: str) -> bool:
    """Whether an answer holds what has the form of a call.

    Examples
    --------
    >>> holds_call("<function=execute_bash>ls</function>"), holds_call("run('ls')")
    (True, True)
    >>> holds_call("The answer is 3.")
    False
    """
    words: list[str] = []
    is_inside = False
    for line in answer[:_LONGEST_ANSWER].split("\n"):
        fence = _FENCE.match(line)
        if fence is None:
            words += [] if is_inside else [line]
        elif not is_inside and _TO_RUN.match(fence[1]):
            return True
        else:
            is_inside = not is_inside
    return _HOLDS_CALL.search("\n".join(words)) is not None


def is_output(reply: str) -> bool:
    """Whether a reply has the form in which harnesses show what a call printed.

    Examples
    --------
    >>> is_output("OBSERVATION: a.py"), is_output("<returncode>0</returncode>"), is_output("Thanks")
    (True, True, False)
    """
    return _IS_OUTPUT.match(reply) is not None


def is_talk(answer: str) -> bool:
    """Whether an answer is words without a call, of which even a short command is none.

    Examples
    --------
    >>> is_talk("The answer is 3."), is_talk("ls")
    (True, False)
    """
    return len(answer[:_LONGEST_COMPLAINT].split()) >= _WORDS and not holds_call(answer)


# --------------------------------------------------------------------------------------------------
# What was read of a file.

CONTINUED_ELSEWHERE = "continued_elsewhere"
SUBAGENT_ELSEWHERE = "subagent_elsewhere"
"""Flags of a file that refers to another file, which is not opened."""

HISTORY_COMPACTED = "history_compacted"
"""The flag of a file that begins with a summary of calls that it does not hold."""

CALLS_UNREADABLE = "calls_unreadable"
"""The flag of a file that shows an agent at work whose calls cannot be read."""

NEWEST_UNREAD = "newest_steps_unread"
"""The flag of a database whose newest rows lie in a log that cannot be read."""

_CONTINUED = "This session is being continued from a previous conversation"
_CLEARED = "[Old tool result content cleared]"
_SHOWN = 3
_AT_WORK = 2


class Reading(Struct, frozen=True, gc=False):
    """The calls, usages and declarations of one trace file, in the order of the file.

    ``has_agent`` is whether the agent did or wrote anything at all, ``holds_run`` whether the
    format keeps a whole run with its sub-agents in one file, so that other transcripts only fill it
    in. ``is_digest``: the file reports the run to a reader, with less than the agent saw or with
    call ids of its own, so that a session file of the same run takes its place. ``is_native``: the
    file is the harness's own record, of which a trajectory is a copy that may have lost failures
    and arguments. ``attached`` and ``submission`` are those of the trace.

    ``sub_agents`` are the ids of the sub-agents whose transcript is in the file, also of those that
    called no tool. ``delegated`` gives, by the id of a call that delegates, the id of the sub-agent
    that it started, where the file states it, else an empty text; and by the id of a sub-agent the
    group of sub-agents that it is one of. ``part_of`` is the session whose sub-agent's transcript
    the file is, if it is one.
    """

    format: str
    items: Sequence[Item] = ()
    session_ids: frozenset[str] = frozenset()
    harness: str | None = None
    harness_version: str | None = None
    model: str | None = None
    started_at: float | None = None
    finished_at: float | None = None
    cwd: str | None = None
    declared_tokens: int | None = None
    declared_cost_usd: float | None = None
    flags: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    has_agent: bool = True
    holds_run: bool = False
    is_digest: bool = False
    is_native: bool = False
    attached: tuple[Attached, ...] = ()
    submission: str | None = None
    sub_agents: frozenset[str] = frozenset()
    delegated: Mapping[str, str] = {}
    part_of: str | None = None

    @property
    def calls(self) -> Sequence[ToolCall]:
        """The tool calls alone."""
        calls = (item for item in self.items if isinstance(item, ToolCall))
        return like(self.items, ToolCall, calls)

    @property
    def has_calls(self) -> bool:
        """Whether there is any tool call."""
        return any(isinstance(item, ToolCall) for item in self.items)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file without a readable trace, and the reason in a sentence.

    ``is_unknown`` is whether no format recognised the file.
    """

    reason: str
    is_unknown: bool = False


@dataclass(frozen=True, slots=True)
class Several(Unreadable):
    """A file that holds several traces, of which a caller has to choose one by name.

    ``names`` are those of the traces, in the order of the file; ``read`` reads one of them.
    """

    names: tuple[str, ...] = ()
    read: Callable[[str], Reading | Unreadable] = field(
        default=Unreadable, repr=False, compare=False
    )


def chosen(
    name: str, names: Sequence[str], read: Callable[[str], Reading | Unreadable]
) -> Reading | Unreadable:
    """Return the only trace of the file ``name``, or :class:`Several` where there are more."""
    if not names:
        return Unreadable(f"{name}: holds no trace")
    if len(names) == 1:
        return read(names[0])
    shown = ", ".join(name[:80] for name in names[:_SHOWN])
    more = ", …" if len(names) > _SHOWN else ""
    reason = f"{name}: holds {len(names)} traces ({shown}{more}), of which one has to be named"
    return Several(reason, names=tuple(names), read=read)


class CallLog:
    """Collects calls and joins results to them by call id.

    An id may come twice. The same id with the same name and arguments is the same call repeated;
    with others it is another call, and each result goes to the earliest call still without one,
    calls of the current step first. ``complaints`` are about the file the calls are from.
    """

    def __init__(self, complaints: Complaints, *, are_ids_reused: bool = False) -> None:
        self.complaints = complaints
        self.flags: dict[str, None] = {}
        self.first_time: float | None = None
        self.n_calls = 0
        self.n_answers = 0
        self.n_refused = 0
        self._n_added = 0
        self._n_unread = 0
        self._n_talked = 0
        self._may_hold_call = False
        self._n_like_calls = 0
        self._awaited: int | None = None
        self._are_ids_reused = are_ids_reused
        self._items: Spooled[Item] = Spooled(Item)
        self._open: dict[int, ToolCall] = {}
        self._first: dict[str, int] = {}
        self._prints: dict[str, dict[str, int]] = {}
        self._waiting = _Queues()
        self._waiting_in_step = _Queues()
        self._recent: list[int] = []

    def spoke(self, answer: str = "") -> None:
        """Note that the agent wrote an answer, whose calls follow."""
        self.n_answers += 1
        self._awaited = self._n_added
        self._may_hold_call = holds_call(answer)
        self._n_like_calls += self._may_hold_call

    def heard(self, reply: str, *, is_users: bool = True, is_refusal: bool = False) -> None:
        """Note that the agent's last answer got a reply, from the environment or from a user.

        The environment's reply to an answer without a call shows that something was done that
        cannot be read, unless it says that the answer was refused and nothing was carried out.
        What a user says (``is_users``), as whom harnesses reply too, shows it where the answer has
        the form of a call or the reply that of an output.
        """
        if self._awaited is None:
            return
        if self._awaited == self._n_added:
            if is_refusal or complains_of_format(reply):
                self.n_refused += 1
                self._n_like_calls -= self._may_hold_call
            elif not is_users or self._may_hold_call or is_output(reply):
                self._n_unread += 1
            else:
                self._n_talked += 1
        self._awaited = None

    @property
    def may_have_worked(self) -> bool:
        """Whether some answer that was not refused, or the reply to it, has the form of a call."""
        return bool(self._n_like_calls or self._n_unread)

    def all_flags(self, n_requests: int = 0) -> tuple[str, ...]:
        """Return the flags, with that of an agent at work whose calls cannot be read.

        Without any call, two answers that got a reply show one, or two requests to a model, of
        which ``n_requests`` are stated. One answer is what an agent says that calls no tool. Beside
        calls, most answers have to be so.
        """
        n_worked = (
            max(self._n_unread, n_requests - self.n_refused - self._n_talked)
            if not self.n_calls
            else 0
        )
        is_mostly = self._n_unread > self.n_answers / 2
        is_unread = max(n_worked, self._n_unread if is_mostly else 0) >= _AT_WORK
        return tuple(dict.fromkeys((*self.flags, *((CALLS_UNREADABLE,) if is_unread else ()))))

    def begin_step(self) -> None:
        """Let results prefer the calls added from now on."""
        self._waiting_in_step = _Queues()

    def add(self, call: ToolCall) -> None:
        """Append ``call`` unless it repeats one."""
        self._n_added += 1
        place = self._place_of(call)
        self._waiting_in_step.push(call.call_id, place)
        self._recent.append(place)
        if place < len(self._items):
            return
        self._waiting.push(call.call_id, place)
        self._see(call.timestamp)
        self.n_calls += 1
        if call.result is None:
            self._open[place] = call
        self._items.append(call, size(call.arguments) + _size_of(call.result))

    def has(self, call_id: str) -> bool:
        """Return whether a call with this id was added."""
        return call_id in self._first

    def take_recent(self) -> list[ToolCall]:
        """Return the calls added since the last time, which the next results can be from."""
        places, self._recent = self._recent, []
        return [self._call(place) for place in dict.fromkeys(places)]

    def add_usage(self, usage: Usage) -> None:
        """Append the usage of a message."""
        self._items.append(usage)

    def add_gap(self) -> None:
        """Note that steps are missing here."""
        self._items.append(Gap())

    def note_summary(self, n_before: int = 0, *, is_cut: bool = False) -> None:
        """Note that the agent's history was replaced by a summary here.

        The calls behind the summary are missing unless the file holds calls before it, beyond the
        first ``n_before``, which are another thread's. ``is_cut``: the file does not hold the calls
        right before the summary.
        """
        if self.n_calls > n_before and not is_cut:
            self.flags["context_compacted"] = None
        else:
            self.flags[HISTORY_COMPACTED] = None
            self.add_gap()

    def join(self, call_id: str, result: ToolResult, timestamp: float | None = None) -> None:
        """Give ``result`` to its call; a second result for an answered call is left out.

        The time of the result is taken for the time of the call where that is unknown. A result
        that was cleared to save room is unknown, so its call has none.
        """
        self._see(timestamp)
        if result.structured is None and result.text.strip() == _CLEARED:
            return
        place = self._waiting_in_step.pop(call_id)
        if place is not None:
            self._answer(place, result, timestamp)
            return
        while (place := self._waiting.pop(call_id)) is not None:
            if self._answer(place, result, timestamp):
                return
        if call_id not in self._first:
            self.flags["result_without_call"] = None

    def next_waiting(self, call_id: str) -> ToolCall | None:
        """Return the call to which the next result with this id goes."""
        place = self._next_place(call_id)
        return None if place is None else self._call(place)

    def _next_place(self, call_id: str) -> int | None:
        place = self._waiting_in_step.first(call_id)
        return self._waiting.first(call_id) if place is None else place

    def touch(
        self, call_id: str, timestamp: float | None, arguments: Mapping[str, Any] | None = None
    ) -> None:
        """Note what is stated later of the call to which the next result with this id goes.

        It was under way at ``timestamp``, and these are its whole ``arguments``, if any are given.
        """
        self._see(timestamp)
        place = self._next_place(call_id)
        if place is None:
            return
        call = self._call(place)
        if call.timestamp is None:
            call = replace(call, timestamp=timestamp)
        if arguments is not None:
            call = replace(call, arguments=arguments)
        if place in self._open:
            self._open[place] = call
        self._items.put(place, call, size(arguments))

    def items(self) -> Sequence[Item]:
        """Return everything collected, in order."""
        return self._items.done()

    def _see(self, timestamp: float | None) -> None:
        self.first_time = earliest(self.first_time, timestamp)

    def _call(self, place: int) -> ToolCall:
        return self._open.get(place) or cast("ToolCall", self._items[place])

    def _answer(self, place: int, result: ToolResult, timestamp: float | None) -> bool:
        call = self._call(place)
        if call.result is not None:
            return False
        when = timestamp if call.timestamp is None else call.timestamp
        seen = self._as_seen(call, result)
        path = seen.saved_to or saved_path(result.text)
        seen = replace(seen, saved_to=path) if path != seen.saved_to else seen
        answered = replace(call, result=seen, timestamp=when)
        self._items.put(place, answered, _size_of(result))
        self._open.pop(place, None)
        return True

    def _as_seen(self, call: ToolCall, result: ToolResult) -> ToolResult:  # noqa: ARG002
        return result

    def _place_of(self, call: ToolCall) -> int:
        """Return the place of the call that this one repeats, or the next free place."""
        new = len(self._items)
        first = self._first.setdefault(call.call_id, new)
        if first == new:
            return new
        known = self._prints.get(call.call_id)
        if known is None:
            known = {self._fingerprint(self._call(first)): first}
            self._prints[call.call_id] = known
        place = known.setdefault(self._fingerprint(call), new)
        if place == new:
            self.flags["repeated_call_id"] = None
        return place

    def _fingerprint(self, call: ToolCall) -> str:
        moment = call.timestamp if self._are_ids_reused else None
        return repr((call.name, moment, call.arguments))


class _Queues:
    """Places of calls by their id, the first of an id first; most ids have one."""

    def __init__(self) -> None:
        self._places: dict[str, int | deque[int]] = {}

    def push(self, call_id: str, place: int) -> None:
        known = self._places.get(call_id)
        if known is None:
            self._places[call_id] = place
        elif isinstance(known, deque):
            known.append(place)
        else:
            self._places[call_id] = deque((known, place))

    def first(self, call_id: str) -> int | None:
        known = self._places.get(call_id)
        return known[0] if isinstance(known, deque) else known

    def pop(self, call_id: str) -> int | None:
        known = self._places.get(call_id)
        if isinstance(known, deque) and len(known) > 1:
            return known.popleft()
        self._places.pop(call_id, None)
        return known[0] if isinstance(known, deque) else known


def _size_of(result: ToolResult | None) -> int:
    return 0 if result is None else len(result.text) + size(result.structured)


def size(value: Any) -> int:
    """Return about how many bytes the texts of a value take, for :class:`Spooled`."""
    found, rest = 0, [value]
    while rest:  # a value may be nested as deep as Python can go
        item = rest.pop()
        if isinstance(item, str):
            found += len(item)
        elif isinstance(item, dict):
            rest += item.values()
        elif isinstance(item, list):
            rest += item
    return found


def is_summary(text: str) -> bool:
    """Return whether a user's message is the harness's summary of a history it dropped."""
    return text.lstrip().startswith(_CONTINUED)


def arguments_of(value: Any) -> Mapping[str, Any]:
    """Return a call's arguments: an object as it is, anything else under ``input``."""
    if isinstance(value, dict):
        return dict(clean(value))
    return {} if value is None else {"input": clean(value)}


# --------------------------------------------------------------------------------------------------
# Complaints about parts of a trace, counted so that a broken file does not fill a report.


class Complaints:
    """Collects lines, or steps of a document, that could not be used, as sentences.

    Parameters
    ----------
    name
        The file's name in messages.
    unit
        What the file consists of: ``line`` or ``step``.
    """

    def __init__(self, name: str, unit: str = "line") -> None:
        self._name = name
        self._unit = unit
        self._sentences: list[str] = []
        self._count = 0

    def add(self, line: Line) -> None:
        """Note a line that holds no JSON object."""
        expected = f"{self._name}: line {line.number}: expected a JSON object"
        self._add(line.problem or expected)

    def objects(self, lines: Iterable[Line]) -> Iterator[tuple[dict[str, Any], str]]:
        """Yield each line that is a JSON object, and where it is; note the others."""
        for line in lines:
            if isinstance(line.value, dict):
                yield line.value, f"{self._name}:{line.number}"
            else:
                self.add(line)

    def note(self, where: str, what: str) -> None:
        """Note what is wrong at a place, which names file and line or step."""
        self._add(f"{where}: {what}")

    def _add(self, sentence: str) -> None:
        self._count += 1
        if len(self._sentences) < _SHOWN:
            self._sentences.append(sentence)

    def sentences(self) -> tuple[str, ...]:
        """Return at most four sentences naming file and line or step."""
        n_more = self._count - len(self._sentences)
        if not n_more:
            return tuple(self._sentences)
        return (*self._sentences, f"{self._name}: {n_more} further {self._unit}s cannot be used")

    def flags(self) -> tuple[str, ...]:
        """Return the quality flag for unusable parts, if there were any."""
        return (f"malformed_{self._unit}",) if self._count else ()
