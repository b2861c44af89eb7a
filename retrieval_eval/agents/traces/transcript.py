"""The transcript of one trace file, put together record by record.

A format says where a record lies and when it was written (:meth:`Transcript.at`), and then what it
means: a call, a result, tokens, a summary of the history. What is the same for every format is done
here: the clock, the place and the sub-agent of each call, which result belongs to which call,
tokens that are stated after the calls they count, complaints, and the :class:`Reading` at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.reading import CallLog, Complaints, Reading, arguments_of, size
from retrieval_eval.agents.traces.results.base import joined
from retrieval_eval.agents.traces.results.listing import listed_names, without_folders
from retrieval_eval.agents.traces.tokens import Usage
from retrieval_eval.agents.traces.untrusted import amount_of, earliest, latest, text_of
from retrieval_eval.io.spooled import Spooled
from retrieval_eval.records import Attached, ToolCall, ToolResult


class _Answer(Struct, tag=True):
    call_id: str
    result: ToolResult
    timestamp: float | None


_Held = ToolCall | _Answer


class Transcript(CallLog):
    """What one trace file says, in its order.

    Parameters
    ----------
    name
        The file's name in messages.
    unit
        What the file consists of: ``line``, ``step`` or ``row``.
    agent
        The sub-agent whose file this is, if it is one.
    answer
        Takes a call with its result as the file holds it, and returns the result as the agent saw
        it, without what the harness wrote around it.
    tokens_follow
        Whether the tokens of a step are stated after its calls: these are held back until then.
    are_ids_reused
        Whether a call with the id of an earlier one, made at another time, is another call.
    facts
        What is the same in every file of the format: fields of :class:`Reading`.
    """

    def __init__(
        self,
        name: str,
        unit: str = "line",
        *,
        agent: str | None = None,
        answer: Callable[[ToolCall], ToolResult] | None = None,
        tokens_follow: bool = False,
        are_ids_reused: bool = False,
        **facts: Any,
    ) -> None:
        super().__init__(Complaints(name, unit), are_ids_reused=are_ids_reused)
        self.name = name
        self.facts = facts
        self.session_ids: set[str] = set()
        self.delegated: dict[str, str] = {}
        self.sub_agents: set[str] = set()
        self.attached: list[Attached] = []
        self.submission: str | None = None
        self.version: str | None = None
        self.model: str | None = None
        self.cwd: str | None = None
        self.cost: float | None = None
        self.ending: tuple[str, ...] = ()
        self.started_at: float | None = None
        self.finished_at: float | None = None
        self.has_agent = False
        self.is_abandoned = False
        """Whether the calls from here on lie on a branch that was rewound."""
        self.where = name
        self.time: float | None = None
        self.by(agent)
        self._seen_as = answer
        self._held: Spooled[_Held] | None = Spooled(_Held) if tokens_follow else None

    def at(
        self,
        where: str,
        time: float | None = None,
        *,
        by_agent: bool = False,
        starts: bool | None = None,
    ) -> None:
        """Go to the record at ``where``, written at ``time`` and, perhaps, by the agent.

        The run starts with the first record of the agent, unless ``starts`` states another.
        """
        self.where, self.time = where, time
        self.finished_at = latest(self.finished_at, time)
        self.has_agent = self.has_agent or by_agent
        if by_agent if starts is None else starts:
            self.started_at = earliest(self.started_at, time)

    def until(self, time: float | None) -> None:
        """Note that the run went on until ``time`` at least."""
        self.finished_at = latest(self.finished_at, time)

    def by(self, agent: str | None, *, is_subagent: bool | None = None) -> None:
        """Say which sub-agent made the calls from here on; None is the agent itself."""
        self.agent: str | None = agent
        self.is_subagent = agent is not None if is_subagent is None else is_subagent

    def session(self, *ids: Any) -> None:
        """Note ids of the session that the file holds."""
        self.session_ids.update(filter(None, map(text_of, ids)))

    def note(self, what: str, inside: str = "") -> None:
        """Complain about the record that is read, or about a place inside it."""
        self.complaints.note(self.where + inside, what)

    def call(
        self,
        name: Any,
        arguments: Any,
        call_id: Any = None,
        *,
        result: ToolResult | None = None,
        inside: str = "",
        time: float | None = None,
    ) -> ToolCall | None:
        """Add a call made here; without an id, its place is its id; without a name, there is none.

        ``inside`` is where in the record it lies; ``time`` is the call's own, if it has one.
        """
        known = text_of(name)
        if known is None:
            self.note("a tool call without a name", inside)
            return None
        call = self.made(known, arguments, text_of(call_id), inside=inside, time=time)
        self.add(call)
        if result is not None:
            self.join(call.call_id, result)
        return call

    def made(
        self,
        name: str,
        arguments: Any,
        call_id: str | None = None,
        *,
        inside: str = "",
        time: float | None = None,
    ) -> ToolCall:
        """Return a call made here, as :meth:`call` does, without adding it."""
        where = self.where + inside
        return ToolCall(
            call_id=call_id or where,
            name=name,
            arguments=arguments_of(arguments),
            result=None,
            timestamp=self.time if time is None else time,
            is_subagent=self.is_subagent,
            cwd=self.cwd,
            where=where,
            parent_id=self.agent,
            is_abandoned=self.is_abandoned,
        )

    def answer(self, call_id: Any, result: ToolResult) -> None:
        """Give a result, which is stated here, to its call."""
        known = text_of(call_id)
        if known is None:
            self.note("a tool result does not name its call")
        else:
            self.join(known, result, self.time)

    def attach(self, path: Any, how: str, **facts: Any) -> None:
        """Note a file whose content was shown here without a call that requested it.

        ``facts`` are further fields of :class:`~retrieval_eval.records.Attached`.
        """
        known = text_of(path)
        if known is not None:
            place = {"cwd": self.cwd, "timestamp": self.time, "is_subagent": self.is_subagent}
            self.attached.append(Attached(known, how, where=self.where, **(place | facts)))

    def attach_folder(self, folder: Any, listing: str | None, how: str) -> None:
        """Note the names in the listing of a folder that was shown here without a call.

        Without a listing, which names the agent was shown is not known.
        """
        known = text_of(folder)
        if known is not None and not (listing or "").strip():
            below = {"access": "listed", "doubt": "display_only", "is_pattern": True}
            self.attach(f"{known.rstrip('/')}/*", how, **below)
        elif known is not None and listing is not None:
            for name in without_folders(listed_names(listing, is_truncated=False)):
                self.attach(joined(known, name), how, access="listed")

    def used(
        self,
        message_id: Any,
        prompt: int,
        output: int,
        *,
        is_misstated: bool = False,
        inside: str = "",
    ) -> None:
        """Add the tokens of a message; those that are no numbers leave a gap."""
        if is_misstated:
            self.note("the token counts are no numbers", inside)
            self.add_gap()
        if prompt + output:
            known = text_of(message_id) or self.where + inside
            self.add_usage(Usage(known, prompt, output, self.is_subagent))
        self.release()

    def paid(self, cost: Any) -> None:
        """Add what a step cost."""
        known = amount_of(cost)
        if known is not None:
            self.cost = known if self.cost is None else self.cost + known

    def reading(self, form: str, *, n_requests: int = 0, **facts: Any) -> Reading:
        """Return everything that was said, with what only the format knows.

        ``n_requests`` is how often a model was asked, where the file states it.
        """
        self.release()
        stated = {
            "session_ids": frozenset(self.session_ids),
            "harness_version": self.version,
            "model": self.model,
            "started_at": earliest(self.started_at, self.first_time),
            "finished_at": self.finished_at,
            "cwd": self.cwd,
            "declared_cost_usd": self.cost,
            "has_agent": self.has_agent,
            "attached": tuple(self.attached),
            "submission": self.submission,
            "sub_agents": frozenset(self.sub_agents),
            "delegated": dict(self.delegated),
        }
        flags = (*self.ending, *self.all_flags(n_requests), *self.complaints.flags())
        problems = self.complaints.sentences()
        known = self.facts | stated | facts
        items = known.pop("items", None) or self.items()
        return Reading(form, items, flags=flags, problems=problems, **known)

    # Calls and results wait here until their tokens are stated.

    def add(self, call: ToolCall) -> None:
        """Append ``call`` unless it repeats one."""
        if self._held is None:
            super().add(call)
        else:
            self._held.append(call, size(call.arguments))

    def join(self, call_id: str, result: ToolResult, timestamp: float | None = None) -> None:
        """Give ``result`` to its call; a second result for an answered call is left out."""
        if self._held is None:
            super().join(call_id, result, timestamp)
        else:
            self._held.append(_Answer(call_id, result, timestamp), len(result.text))

    def note_summary(self, n_before: int = 0, *, is_cut: bool = False) -> None:
        """Note that the agent's history was replaced by a summary here."""
        self.release()
        super().note_summary(n_before, is_cut=is_cut)

    def release(self) -> None:
        """Add what was held back, as its tokens are stated or will not be."""
        if not self._held:
            return
        held, self._held = self._held, None
        for item in held:
            if isinstance(item, ToolCall):
                super().add(item)
            else:
                super().join(item.call_id, item.result, item.timestamp)
        self._held = Spooled(_Held)

    def _as_seen(self, call: ToolCall, result: ToolResult) -> ToolResult:
        return result if self._seen_as is None else self._seen_as(replace(call, result=result))
