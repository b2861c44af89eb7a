"""Time and tokens: calls become messages of a conversation that grows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.simulators.dice import Dice
from tests.simulators.moves import Call
from tests.simulators.task import CLAUDE, TRANSCRIPT, Task

PRICES = {
    "demo-large-1": (3.0, 3.75, 0.30, 15.0),
    "demo-large-2": (5.0, 6.25, 0.50, 25.0),
    "demo-small-1": (1.0, 1.25, 0.10, 5.0),
}
"""US dollars per million tokens: input, cache writing, cache reading, output."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of one message; ``shown_output`` is what the transcript's lines say."""

    fresh: int = 0
    cache_written: int = 0
    cache_read: int = 0
    output: int = 0
    shown_output: int = 0

    @property
    def prompt(self) -> int:
        """All input tokens, cached ones included."""
        return self.fresh + self.cache_written + self.cache_read

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.fresh + other.fresh,
            self.cache_written + other.cache_written,
            self.cache_read + other.cache_read,
            self.output + other.output,
            self.shown_output + other.shown_output,
        )

    def cost(self, model: str) -> float:
        """Return the price in US dollars."""
        parts = (self.fresh, self.cache_written, self.cache_read, self.output)
        return math.fsum(n * price for n, price in zip(parts, PRICES[model], strict=True)) / 1e6


@dataclass(frozen=True, slots=True)
class TimedCall:
    """A call with its id, the second it was made and the second its result came."""

    call: Call
    call_id: str
    second: float
    done: float


@dataclass(frozen=True, slots=True)
class Message:
    """One message of an agent; ``parent_id`` is the call that started a sub-agent."""

    message_id: str
    second: float
    text: str
    calls: tuple[TimedCall, ...]
    usage: Usage
    tokens_so_far: int
    parent_id: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """Everything an agent said and did, in order of time; seconds count from its start."""

    session_id: str
    messages: tuple[Message, ...]
    duration: float

    @property
    def usage(self) -> Usage:
        """The tokens of all messages, those of sub-agents included."""
        return sum((m.usage for m in self.messages), Usage())

    @property
    def main_usage(self) -> Usage:
        """The tokens without those of sub-agents."""
        return sum((m.usage for m in self.messages if m.parent_id is None), Usage())


class _Clock:
    def __init__(self) -> None:
        self.second = 0.0
        self.tokens = 0

    def wait(self, seconds: float) -> float:
        self.second = round(self.second + seconds, 3)
        return self.second


def converse(task: Task, calls: list[Call], dice: Dice, *, is_remote: bool) -> Session:
    """Return the conversation in which an agent makes ``calls``."""
    clock = _Clock()
    clock.wait(dice.between(1.5, 4.0, "start"))
    context = dice.whole(14_000, 17_000, "prompt") + (5_500 if is_remote else 0)
    talk = _Talk(task, dice, clock, context, slow=3.0 if is_remote else 1.0)
    messages = list(talk.messages(calls))
    return Session(dice.uuid("session"), tuple(messages), clock.wait(dice.between(2, 6, "end")))


class _Talk:
    """One agent's side of the conversation: its context grows with every result."""

    def __init__(self, task: Task, dice: Dice, clock: _Clock, context: int, *, slow: float) -> None:
        self._task, self._dice, self._clock = task, dice, clock
        self._context, self._cached, self._slow = context, 0, slow

    def messages(self, calls: list[Call], parent: str | None = None) -> Iterator[Message]:
        """Yield the messages that make ``calls``, then a closing one without calls."""
        for number, group in enumerate(self._groups(calls)):
            dice = self._dice.scoped(parent, number)
            self._clock.wait(dice.between(2.5, 9.0, "thinking"))
            message = self._message(group, dice, parent)
            inner = [m for timed in message.calls for m in self._sub_agent(timed, dice)]
            if inner:
                done = self._clock.wait(dice.between(0.2, 0.8, "report"))
                message = replace(message, calls=(replace(message.calls[0], done=done),))
            yield message
            yield from inner
        dice = self._dice.scoped(parent, "end")
        self._clock.wait(dice.between(3.0, 8.0, "thinking"))
        yield self._message([], dice, parent)

    def _groups(self, calls: list[Call]) -> Iterator[list[Call]]:
        """Put some neighbouring calls into one message, as parallel calls."""
        position = 0
        while position < len(calls):
            pair = calls[position : position + 2]
            parallel = self._dice.chance(0.22, "parallel", position) or any(
                call.shown_arguments is not None for call in pair[1:]
            )
            is_plain = not any(c.children or c.shown_arguments is not None for c in pair[:1])
            together = len(pair) == 2 and parallel and is_plain and not pair[1].children
            yield pair if together else pair[:1]
            position += 2 if together else 1

    def _message(self, group: list[Call], dice: Dice, parent: str | None) -> Message:
        usage = self._usage(group, dice)
        self._clock.tokens += usage.prompt + usage.shown_output
        start = self._clock.second
        timed = []
        for number, call in enumerate(group):
            second = self._clock.wait(dice.between(0.1, 0.6, "call", number))
            call_id = f"toolu_01{dice.identifier(22, 'call', number)}"
            timed.append(TimedCall(call, call_id, second, second))
        for number, item in enumerate(timed):
            done = self._clock.wait(dice.between(0.05, 0.9, "tool", number) * self._slow)
            timed[number] = TimedCall(item.call, item.call_id, item.second, done)
        text = "" if group and dice.chance(0.6, "silent") else _remark(self._task, group)
        identity = f"msg_01{dice.identifier(22, 'message')}"
        total = self._clock.tokens
        self._context += usage.output + sum(len(call.text) for call in group) // 3
        return Message(identity, start, text, tuple(timed), usage, total, parent)

    def _usage(self, group: list[Call], dice: Dice) -> Usage:
        """Bill the context: what was sent before comes from the cache.

        A trajectory cannot tell the tokens written to the cache from other input, so sessions
        that leave one run without cache writing.
        """
        new = self._context - self._cached
        written = new - 4 if self._task.source == TRANSCRIPT else 0
        output = dice.whole(70, 420, "output") + (0 if group else 250)
        shown = dice.whole(1, 8, "shown") if self._task.harness == CLAUDE else output
        usage = Usage(new - written, written, self._cached, output, shown)
        self._cached = self._context
        return usage

    def _sub_agent(self, timed: TimedCall, dice: Dice) -> Iterator[Message]:
        if timed.call.children:
            inner = _Talk(self._task, dice, self._clock, 9_000, slow=self._slow)
            yield from inner.messages(list(timed.call.children), timed.call_id)


def _remark(task: Task, group: list[Call]) -> str:
    if not group:
        return f"I have finished the work on {task.topic}."
    return f"Next I look at how {task.topic} is handled."
