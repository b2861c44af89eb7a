"""A script as a flat list of steps in the order in which they run.

Words are expanded, loops are unrolled and ``cd`` is resolved; what is left is a list of
pipelines, each argument an option or an operand, and of lines that ``echo`` is known to print
between them.
"""

from __future__ import annotations

import posixpath
import re

from msgspec import Struct, field
from msgspec.structs import replace

Part = str | None


class Arg(Struct, frozen=True, gc=False):
    """One expanded word.

    ``parts`` are the known texts with None for each unknown stretch. ``pattern`` is the word as a
    file-name pattern when it has unquoted wildcards. ``captured`` are the steps whose output a
    command substitution put here. ``is_feed`` marks the names that ``xargs`` or ``find -exec``
    insert; ``roots`` are then the directories those names start with.
    """

    parts: tuple[Part, ...]
    pattern: str | None = None
    captured: tuple[Step, ...] = ()
    is_feed: bool = False
    roots: tuple[str, ...] = ()

    @property
    def text(self) -> str | None:
        """The word, or None when any of it is unknown."""
        if self.pattern is not None or self.is_feed:
            return None
        if len(self.parts) == 1:
            return self.parts[0]
        known = [part for part in self.parts if part is not None]
        return "".join(known) if len(known) == len(self.parts) else None

    @property
    def raw(self) -> str:
        """The word with ``*`` for what is unknown, for options and messages."""
        if len(self.parts) == 1:
            return "*" if self.parts[0] is None else self.parts[0]
        return "".join("*" if part is None else part for part in self.parts)


def literal(text: str) -> Arg:
    """Return the word ``text``."""
    return Arg((text,))


class Invocation(Struct, frozen=True, gc=False):
    """A simple command with all that is known about its surroundings.

    ``stdin`` is a file given with ``<``, ``script`` the text of a here-document. ``is_shown`` is
    false when the output goes to a file or nowhere; ``writes`` are the files it goes to.
    ``is_appending`` says that it is added to what they hold. ``is_away`` marks a command that
    runs in a container or on another machine. ``source`` is the text of the file that it runs,
    where the agent wrote that. ``is_unordered``: what it prints goes to standard
    error, which comes in no order with what others print.
    """

    program: str
    args: tuple[Arg, ...] = ()
    cwd: str | None = None
    stdin: Arg | None = None
    script: str | None = None
    hides_errors: bool = False
    is_shown: bool = True
    writes: tuple[Arg, ...] = ()
    is_appending: bool = False
    is_away: bool = False
    is_unordered: bool = False
    source: str | None = None

    def texts(self) -> list[str]:
        """Return the arguments as text, with ``*`` for what is unknown."""
        return [arg.raw for arg in self.args]

    def resolve(self, path: str) -> str:
        """Return ``path`` from the working directory, or as written when that is unknown."""
        return resolve(self.cwd, path)

    def rest(self, start: int) -> Invocation:
        """Return the command that begins at argument ``start`` (after ``sudo``, ``xargs`` …)."""
        tail = self.args[start:]
        name = tail[0].text if tail else None
        return replace(self, program=posixpath.basename(name or ""), args=tail[1:])


class Marker(Struct, frozen=True, gc=False):
    """A line that ``echo`` printed; ``ends_line`` is false when more text follows on it."""

    parts: tuple[Part, ...]
    ends_line: bool = True

    @property
    def text(self) -> str | None:
        """The line, or None when any of it is unknown."""
        return "".join(p or "" for p in self.parts) if None not in self.parts else None


class Step(Struct, frozen=True, gc=False):
    """A pipeline, a marker line, or something that could not be followed (``reason``).

    ``is_conditional`` is true when it may not have run, so that only its own output can prove
    that it did; ``is_background`` when the shell did not wait for it; ``is_unordered`` when what it
    prints goes to standard error.
    """

    stages: tuple[Invocation, ...] = ()
    marker: Marker | None = None
    reason: str | None = None
    is_conditional: bool = False
    is_background: bool = False
    is_unordered: bool = False


_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


def is_absolute(path: str) -> bool:
    """Return whether a path is the same from every working directory."""
    return path[:1] in ("/", "~") or (path[1:2] == ":" and _DRIVE.match(path) is not None)


def resolve(cwd: str | None, path: str) -> str:
    """Return ``path`` joined to ``cwd`` and normalised; as written when ``cwd`` is unknown.

    Examples
    --------
    >>> resolve("/w/x", "../a.py"), resolve(None, "./a.py"), resolve("sub", "a.py")
    ('/w/a.py', 'a.py', 'sub/a.py')
    """
    if path[:1] == "~" or not (cwd or path) or (path[1:2] == ":" and _DRIVE.match(path)):
        return path
    plain = path if path[:1] == "/" or not cwd else f"{cwd}/{path}"
    if not ("//" in plain or "/." in plain or plain[0] == "." or plain[-1] == "/"):
        return plain
    joined = posixpath.normpath(posixpath.join(cwd or "", path))
    return "/" + joined.lstrip("/") if joined.startswith("/") else joined


# --------------------------------------------------------------------------------------------------
# The lines that ``echo`` and ``printf`` print: markers between the output of other commands.

_PRINTED_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r", '"': '"', "a": "", "e": "\x1b"}


def printed(program: str, args: tuple[Arg, ...]) -> list[Marker]:
    """Return the lines that ``echo args`` or ``printf args`` prints.

    Examples
    --------
    >>> [m.text for m in printed("echo", (Arg(("a",)), Arg(("b",))))]
    ['a b']
    """
    if program == "printf":
        parts, ends_line = _printf(args)
    else:
        parts, ends_line = _echo(args)
    return _lines(parts, ends_line)


def _echo(args: tuple[Arg, ...]) -> tuple[list[Part], bool]:
    has_escapes, ends_line = False, True
    rest = list(args)
    while rest and rest[0].text and re.fullmatch(r"-[neE]+", rest[0].text):
        flags = rest.pop(0).raw
        has_escapes = has_escapes or "e" in flags
        ends_line = ends_line and "n" not in flags
    parts: list[Part] = []
    for i, arg in enumerate(rest):
        if i:
            parts.append(" ")
        parts += [None] if arg.pattern is not None or arg.is_feed else list(arg.parts)
    if has_escapes:
        parts = [None if part is None else _unescape_printed(part) for part in parts]
    return parts, ends_line


def _printf(args: tuple[Arg, ...]) -> tuple[list[Part], bool]:
    if args and args[0].text == "--":
        args = args[1:]
    template = args[0].text if args else None
    if template is None:
        return [None], True
    template = _unescape_printed(template)
    values = list(args[1:])
    parts: list[Part] = []
    for piece in re.split(r"(%%|%[-+ 0#]*\d*(?:\.\d+)?[a-zA-Z])", template):
        if piece == "%%":
            parts.append("%")
        elif len(piece) > 1 and piece[0] == "%":
            value = values.pop(0) if values else None
            parts.append(value.text if value is not None and piece == "%s" else None)
        else:
            parts.append(piece)
    if values:
        parts.append(None)
    return parts, template.endswith("\n")


def _unescape_printed(text: str) -> str:
    return re.sub(r"\\([nt\\rae\"])", lambda m: _PRINTED_ESCAPES[m[1]], text)


def _lines(parts: list[Part], ends_line: bool) -> list[Marker]:
    lines: list[list[Part]] = [[]]
    for part in parts:
        if part is None:
            lines[-1].append(None)
            continue
        first, *more = part.split("\n")
        lines[-1].append(first)
        lines += [[text] for text in more]
    is_complete = ends_line
    if len(lines) > 1 and not any(lines[-1]) and None not in lines[-1]:
        lines.pop()
        is_complete = True
    return [
        Marker(tuple(line), ends_line=is_complete or i < len(lines) - 1)
        for i, line in enumerate(lines)
    ]


# --------------------------------------------------------------------------------------------------
# Splitting a program's arguments into options and operands.


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
