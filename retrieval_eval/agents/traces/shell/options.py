"""Splitting a program's arguments into options and operands."""

from __future__ import annotations

from msgspec import Struct, field

from retrieval_eval.agents.traces.shell.steps import Arg, literal


def words(text: str) -> frozenset[str]:
    """Return the words of ``text`` as a set; the tables of programs are written with it."""
    return frozenset(text.split())


class Options(Struct):
    """Options by name without dashes (a flag has an empty list) and the operands."""

    values: dict[str, list[Arg]] = field(default_factory=dict)
    operands: list[Arg] = field(default_factory=list)

    def has(self, *names: str) -> bool:
        """Return whether any of these options was given."""
        return not self.values.keys().isdisjoint(names)

    def text(self, *names: str) -> str | None:
        """Return the last known value of one of these options."""
        for name in names:
            for arg in reversed(self.values.get(name, [])):
                return arg.text
        return None

    def number(self, *names: str) -> int | None:
        """Return the last value of one of these options as an integer."""
        text = self.text(*names)
        return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None


def scan(args: tuple[Arg, ...], short: str = "", long: str = "") -> Options:
    """Split ``args``; ``short`` letters and ``long`` names take a value.

    ``-nA5``, ``-A 5``, ``--context=5``, ``--include x`` and ``-30`` (option ``#``) are read;
    ``--`` ends the options.

    Examples
    --------
    >>> o = scan((literal("-nA5"), literal("x"), literal("--"), literal("-y")), short="A")
    >>> o.number("A"), o.has("n"), [a.raw for a in o.operands]
    (5, True, ['x', '-y'])
    """
    found = Options()
    names = long.split()
    i = 0
    while i < len(args):
        arg = args[i]
        text = arg.raw
        i += 1
        if text[:1] != "-":
            found.operands.append(arg)
        elif text == "--":
            found.operands += args[i:]
            break
        elif text.startswith("--"):
            name, has_value, value = text[2:].partition("=")
            slot = found.values.setdefault(name, [])
            if has_value:
                slot.append(literal(value))
            elif name in names and i < len(args):
                slot.append(args[i])
                i += 1
        elif text[1:].isdigit():
            found.values.setdefault("#", []).append(literal(text[1:]))
        elif len(text) > 1 and not arg.is_feed:
            i = _cluster(found, text[1:], args, i, short)
        else:
            found.operands.append(arg)
    return found


def _cluster(found: Options, letters: str, args: tuple[Arg, ...], i: int, short: str) -> int:
    for at, letter in enumerate(letters):
        slot = found.values.setdefault(letter, [])
        if letter in short:
            rest = letters[at + 1 :]
            if rest:
                slot.append(literal(rest))
            elif i < len(args):
                slot.append(args[i])
                i += 1
            break
    return i


def split(args: tuple[Arg, ...]) -> tuple[tuple[Arg, ...], list[Arg]]:
    """Return the arguments before ``--`` and those behind it."""
    texts = [a.raw for a in args]
    if "--" not in texts:
        return args, []
    at = texts.index("--")
    return args[:at], list(args[at + 1 :])
