"""The lines that ``echo`` and ``printf`` print: markers between the output of other commands."""

from __future__ import annotations

import re

from retrieval_eval.traces.shell.steps import Arg, Marker, Part

_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "r": "\r", '"': '"', "a": "", "e": "\x1b"}


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
        parts = [None if part is None else _unescape(part) for part in parts]
    return parts, ends_line


def _printf(args: tuple[Arg, ...]) -> tuple[list[Part], bool]:
    if args and args[0].text == "--":
        args = args[1:]
    template = args[0].text if args else None
    if template is None:
        return [None], True
    template = _unescape(template)
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


def _unescape(text: str) -> str:
    return re.sub(r"\\([nt\\rae\"])", lambda m: _ESCAPES[m[1]], text)


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
