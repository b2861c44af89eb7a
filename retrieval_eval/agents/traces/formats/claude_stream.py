"""Claude Code's ``--output-format stream-json``: one file, with the calls of its sub-agents.

Lines of type ``assistant`` make calls, lines of type ``user`` carry results, and a line of type
``result`` ends the run with its usage. Older versions put a time on ``user`` lines only; a
call then has the time of its result, a delegating call that of its sub-agent's first line.

Of a ``result``, ``usage`` counts one turn of the main thread, while ``total_cost_usd`` and
``modelUsage`` count the session, with sub-agents, since its first run. In a run that resumed or
forked a session they hold what was paid before it; since 2.1.332 the run's own share stands in
``model_usage_since_last_result``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from retrieval_eval.agents.traces.clock import unix_seconds
from retrieval_eval.agents.traces.formats import FORMATS, LineFormat
from retrieval_eval.agents.traces.formats.claude_lines import (
    COMPACTED,
    SYNTHETIC_MODEL,
    ClaudeTranscript,
    take_assistant,
    take_user,
    tokens_of_models,
    usage_of_models,
)
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.agents.traces.tokens import Usage, anthropic_usage
from retrieval_eval.agents.traces.untrusted import at, dict_of, text_at, text_of
from retrieval_eval.io.files import Line

FORMAT = "claude-code-stream-json"


def read_claude_stream(lines: Iterable[Line], name: str) -> Reading:
    """Return the reading of a stream-json file; ``name`` is the file's name in messages."""
    said = ClaudeTranscript(name, holds_run=True)
    has_begun, spent = False, _Spent()
    for entry, where in said.complaints.objects(lines):
        said.session(entry.get("session_id"))
        match entry.get("type"):
            case "system" if entry.get("subtype") == "init" and not has_begun:
                has_begun = True
                said.version = text_at(entry, "claude_code_version")
                said.model, said.cwd = text_at(entry, "model"), text_at(entry, "cwd")
            case "system" if entry.get("subtype") == COMPACTED:
                said.note_summary()
                spent.n_unseen += 1
            case "result":
                spent.ends.append(entry)
            case "assistant" | "user" as kind:
                parent = text_at(entry, "parent_tool_use_id")
                is_assistant = kind == "assistant"
                said.at(where, unix_seconds(entry.get("timestamp")), starts=is_assistant)
                said.by(parent)
                if parent:
                    said.touch(parent, said.time)
                    said.sub_agents.add(parent)
                if not is_assistant:
                    take_user(said, entry, entry.get("tool_use_result"))
                    continue
                if at(entry, "message", "model") != SYNTHETIC_MODEL:
                    said.has_agent = True
                take_assistant(said, entry.get("message"))
                spent.add(entry.get("message"), is_inner=parent is not None)
    said.ending = _ending(spent.ends[-1] if spent.ends else None)
    for cost in spent.costs:
        said.paid(cost)
    return said.reading(FORMAT, declared_tokens=spent.tokens)


def _ending(result: Mapping[str, Any] | None) -> tuple[str, ...]:
    if result is None:
        return ("no_result_event",)
    subtype = text_of(result.get("subtype"))
    if subtype in (None, "success"):
        return ("result_error",) if result.get("is_error") is True else ()
    return (f"result_{subtype[:60]}",)


class _Spent:
    """What a run took, by its messages and by what its results state.

    Attributes
    ----------
    ends
        The results, one for each turn.
    n_unseen
        Requests that left no message: those for a summary of the history.
    """

    def __init__(self) -> None:
        self.ends: list[Mapping[str, Any]] = []
        self.n_unseen = 0
        self._main: dict[str, Usage] = {}
        self._inner: dict[str, Usage] = {}
        self._models: dict[str, str] = {}

    def add(self, message: Any, *, is_inner: bool) -> None:
        """Add a line of a message, whose lines repeat its usage."""
        identity, model = text_at(message, "id"), text_at(message, "model")
        usage = anthropic_usage(identity or "", at(message, "usage"))
        if identity is None or model is None or usage is None:
            return
        messages = self._inner if is_inner else self._main
        known = messages.get(identity)
        if known is None or known.total < usage.total:
            messages[identity] = usage
        self._models[identity] = model

    @property
    def is_own(self) -> bool:
        """Whether the totals of the last result count nothing that was paid before the run.

        The models that the messages name must not have read more than the messages did, but for
        what leaves no message: summaries, and the last answers of sub-agents.
        """
        if not self.ends:
            return False
        stated = usage_of_models(self.ends[-1].get("modelUsage"))
        seen = [*self._main.values(), *self._inner.values()]
        named = {self._models[usage.message_id] for usage in seen}
        n_read = sum(usage.prompt for usage in seen)
        n_stated = sum(stated[model].prompt for model in named if model in stated)
        largest = max((usage.prompt for usage in seen), default=0)
        unseen = self.n_unseen * largest + sum(usage.prompt for usage in self._inner.values())
        return not n_read or n_stated <= n_read + unseen

    @property
    def _shares(self) -> list[Any]:
        """The tokens and costs by model that the results state as their own share, since 2.1.332.

        Empty unless each result states its share.
        """
        shares = [end.get("model_usage_since_last_result") for end in self.ends]
        return [] if None in shares else shares

    @property
    def costs(self) -> list[Any]:
        """What the run was charged, where no earlier run is in the sums."""
        if self._shares:
            shares = map(dict_of, self._shares)
            return [at(counts, "costUSD") for share in shares for counts in share.values()]
        return [at(self.ends[-1], "total_cost_usd")] if self.is_own else []

    @property
    def tokens(self) -> int | None:
        """The tokens of the run: those of all models, or of its turns and its sub-agents."""
        if not self.ends:
            return None
        own = sum(tokens_of_models(share) or 0 for share in self._shares)
        if own:
            return own
        stated = tokens_of_models(self.ends[-1].get("modelUsage"))
        if stated is not None and self.is_own:
            return stated
        turns = [anthropic_usage("", end.get("usage")) for end in self.ends]
        own = sum(usage.total for usage in turns if usage is not None)
        return (own + sum(usage.total for usage in self._inner.values()) if own else None) or None


def _is_stream_line(line: Mapping[str, Any]) -> bool:
    kind = line.get("type")
    if kind == "assistant" and text_at(line, "message", "id"):
        return True
    return "parent_tool_use_id" in line or ("tools" in line and kind == "system")


def _may_be_stream_line(line: Mapping[str, Any]) -> bool:
    return line.get("type") == "assistant" and isinstance(line.get("message"), dict)


FORMATS.add(
    FORMAT,
    LineFormat(
        recognises=_is_stream_line,
        read=read_claude_stream,
        keeps=("times", "tokens", "cost", "model", "version", "sub-agents"),
        may_be=_may_be_stream_line,
        counters=(
            "`usage` of a result counts a turn of the main thread; `modelUsage` and "
            "`total_cost_usd` count the session since its first run, with sub-agents. Cached "
            "tokens are apart. `model_usage_since_last_result` counts the run's own share with "
            "its cost; without it, of a run that resumed a session the tokens of its turns are "
            "taken, and no cost."
        ),
        example=(
            {"type": "system", "subtype": "init", "session_id": "s", "tools": [], "cwd": "/w"},
            {
                "type": "assistant",
                "parent_tool_use_id": None,
                "message": {
                    "id": "m",
                    "content": [{"type": "tool_use", "id": "c", "name": "Glob", "input": {}}],
                },
            },
            {
                "type": "user",
                "parent_tool_use_id": None,
                "message": {
                    "content": [{"type": "tool_result", "tool_use_id": "c", "content": "/w/a.py"}]
                },
            },
            {"type": "result", "subtype": "success"},
        ),
    ),
)
