"""How much of an answer the agent can have received, and which parts.

Every harness cuts long answers: it keeps the head, the tail, both, or a preview of a result that it
saved to a file. A dialect's ``answer`` knows the fields and wordings of its harness; wordings that
no dialect knows are recognised here by their shape. Either way the text that goes on has a line
:data:`~retrieval_eval.records.CUT_HERE` where a part is left out, and readers of results ask only
for that line. The lines beside it may be halves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.records import CUT_HERE, ToolResult

_HINTS: Final = (
    *(
        "runcat",
        "RUNCAT",
        "mitted",
        "OMITTED",
        "lided",
        "ELIDED",
        "liding",
        "lipped",
        "CLIPPED",
        "kipped",
    ),
    *("cut off", "howing ", "SHOWING", "isplaying ", "too l", "TOO L", "more lines", "nipped"),
    *(
        "<persisted-output>",
        "emaining",
        "emain ",
        "nes left",
        "more output",
        "more content",
        "more rows",
    ),
    *(
        "xceed",
        "not shown",
        "B shown",
        "es shown",
        "rs shown",
        "snip>",
        "es cut",
        "rs cut",
        "rimmed",
        "hidden",
        "ollapsed",
        "SNIP",
        " snip",
        "chars]",
        "\u22ee",
    ),
    *("apped at", "imited to", "arlier output", "[cut", "<cut", "- cut", "nes ..", "nes \u2026"),
    *("imit reached", "imit hit", "ize reached", "bbreviated", "[... and ", "(... and "),
    *("to expand", "bridged", "hortened", "not displayed", "not included", "ore--", "ore --"),
    *("ers ..", "ers \u2026", "kens ..", "kens \u2026", "ytes ..", "ytes \u2026"),
)
"""Parts of words one of which every mark of a cut holds."""

_LONGEST_MARK: Final = 400
_MOST_HINTS: Final = 20_000
_FIRST_LINES: Final = 3
_LAST_LINES: Final = 6

_LEFT_OUT: Final = (
    r"(?:truncated|truncation|omitted|elided|clipped|skipped|snipped|trimmed|cut\ off|abridged"
    r"|shortened|not\ (?:shown|displayed|included)|too\ (?:long|large)|exceed(?:s|ed))"
)
_DOTS: Final = r"(?:\.{3}|\u2026)"
_COUNT: Final = r"\d[\d,._]{0,14}(?:\ of\ \d[\d,._]{0,14})?\ ?(?:more\ )?(?:[KMG]i?B|\w{1,12})"
_PROSE: Final = r"[\w ,.:;'%+/<>()\[\]\u2026-]"
_SUBJECT: Final = (
    r"(?:output|response|content|contents|observation|result|text|log|message|lines|characters"
    r"|file|stdout|stderr|middle|rest|remainder)"
)
_MARK: Final = re.compile(
    rf"""(?ix)\s{{0,8}}(?:
        # dots on both sides, or a bracket around dots: [... output truncated ...], …12 tokens cut…
        [\[(<{{]{{0,2}}\s?{_DOTS}{_PROSE}{{0,200}}?\b{_LEFT_OUT}\b{_PROSE}{{0,200}}?
            {_DOTS}\s?[\])>}}]{{0,2}}
      | [\[(<{{]{{1,2}}\s?{_DOTS}{_PROSE}{{0,200}}?\b{_LEFT_OUT}\b{_PROSE}{{0,200}}[\])>}}]{{1,2}}
        # a number of lines that are left out: [12,345 characters truncated], ... 9 lines omitted
      | (?:{_DOTS}|[\[(<]{{1,3}}|[*#=-]{{2,8}})\s?[\[(]?\+?{_COUNT}\ (?:\w{{1,12}}\ ){{0,2}}
            {_LEFT_OUT}\b{_PROSE}{{0,160}}\s?[\])>*#=.-]{{0,8}}
        # a note about the output in brackets: <response clipped>, [Output truncated]
      | (?:{_DOTS}\s?)?(?:[\[(<]{{1,3}}|[*=#-]{{3,8}})\s?(?:
            (?:(?:the|tool|command|full|remaining|of|this|snip:)\ ){{0,3}}
            {_SUBJECT}\ (?:of\ (?:the\ )?\w{{1,12}}\ )?(?:(?:part|is|was|were|has\ been|too|to)\ )?
            {_LEFT_OUT}\b{_PROSE}{{0,160}}
          | (?:{_SUBJECT}\ )?(?:truncated|elided|clipped|omitted|snipped|cut(?:\ off|\ here)?)
            (?:(?:[:,;]|\ -|\ \d|\ due\b|\ to\b|\ after\b|\ for\b|\ at\b){_PROSE}{{0,160}})?
        )\s?(?:[\])>]{{1,3}}|[*=#-]{{3,8}})
      | <response\ clipped>\s?(?:<NOTE>[^\n]{{0,300}})?
    )\s{{0,8}}"""
)
"""A whole line that stands where a part is left out."""

_PLAIN_MARK: Final = re.compile(
    r"""(?ix)\s{0,8}(?:
        [\[(<{~=*\u2500\u2501\u2014\u2026\u22ee.]{1,12}\s?[\[(]?\s?(?:and\ )?\+?\d[\d,]{0,14}\s?
            (?:more\ |earlier\ )?(?:lines?|char(?:acter)?s?|bytes|tokens)
            (?:\ (?:more|hidden|skipped|collapsed|left|below|above|omitted|elided|truncated))?
            (?:\s?[\])>}~=*\u2500\u2501\u2014\u2026\u22ee.]{1,12})?(?:\s?\([^\n()]{0,80}\))?
      | --\s?more\s?--(?:\s?\(\d{1,3}%\))?
      | [\[(<*#=-]{1,8}\s?snip(?:ped)?\b[^\n]{0,60}[\])>*#=-]{1,8}
      | </?truncated(?:\s[^<>\n]{0,80})?/?>
      | </?(?:truncated[_-](?:output|content|result)|output[_-]truncated)\s?/?>
      | [\[(<]\s?\d[\d.,]{0,14}\s?(?:[KMG]?i?B|bytes|lines)?\ of\ \d[\d.,]{0,14}\s?
            (?:[KMG]?i?B|bytes|lines|characters|chars)
            \ (?:(?:is|are|was|were)\ )?(?:shown|displayed)[^\n]{0,80}[\])>]
      | \.{3}\ eliding\ lines?\ \d{1,9}-\d{1,9}\ \.{3}
      | \[output\ truncated\b[^\n]{0,300}\]
      | \[earlier\ output\ omitted\b[^\n]{0,80}\]
      | \[?output\ (?:was\ |is\ )?(?:capped\ at|limited\ to)\ \d[^\n]{0,120}
      | [\[(<*]{1,3}\s?(?:(?:max(?:imum)?|output|response|result|token|size|length)\s){1,3}
            (?:limit\s)?(?:was\s|is\s)?(?:reached|hit|exceeded|abbreviated)\b[^\n]{0,120}[\])>*]{1,3}
      | [\[(<]\.{3}\sand\s\d[\d,]{0,14}\smore\b[^\n]{0,80}[\])>]
    )\s{0,8}"""
)
"""A whole line that counts what is not shown, or says that something is left out."""

_UNIT: Final = r"(?:lines?|rows?|char(?:acter)?s?|bytes?|tokens?|[KMG]i?B|entries|results|matches)"
_REST: Final = rf"(?:{_LEFT_OUT}|more|remain(?:s|ing)?|left|hidden)"
_COUNTED_REST: Final = re.compile(
    rf"""(?ix)\s{{0,8}}(?:{_DOTS}\s?)?[\[(<]{{1,2}}\s?(?=[^\n]{{0,120}}?(?:
            \d[\d,]{{0,14}}\s?(?:\w{{1,10}}\s)?{_UNIT}\b[^\n]{{0,60}}?\b{_REST}\b
          | \d[\d,]{{0,14}}\s?{_REST}\s{_UNIT}\b
          | \b{_REST}\b[^\n]{{0,40}}?\d[\d,]{{0,14}}\s?{_UNIT}\b
          | \bmore\ (?:lines|rows|output|content)\b
        )){_PROSE}{{1,200}}(?:[.:;]\ [^\n]{{0,200}})?[\])>]{{1,2}}\s{{0,8}}"""
)
"""A whole line in brackets that says how much more there is, or that there is more."""

_OUTERMOST: Final = re.compile(
    rf"""(?ix)\s{{0,8}}[*_>|~=\#\u2702\u2704\u25b6-]{{1,8}}\s?[\[(]?\s?(?:
            (?:(?:the\ )?{_SUBJECT}\ (?:(?:was|is|has\ been)\ )?)?
            (?:truncated|elided|clipped|omitted|snipped|cut\ off)
          | {_COUNT}\ (?:{_LEFT_OUT}|cut)
        )\b(?:(?:[.:;,]|\ (?:at|to|after|by|due|for)\b)[^\n={{}}]{{0,160}})?\s?[*_>|~=\#\])-]{{0,8}}
        \s{{0,8}}"""
)
"""A note about the cut with some ornament, as the first or the last line of all."""

_OF_ROWS: Final = re.compile(
    r"(?i)\blines? (?:in file|remain|left)|\bhas more lines\b|\beliding lines\b"
)
"""What notes say whose harness ends an answer after a number of lines, and not within one."""

_DOTS_ALONE: Final = re.compile(
    r"^[\[(<]{0,2} ?(?:\.{3,200}|(?:\. ){2,100}\.|(?:\u2026 ?){1,40}|\u22ee) ?[\])>]{0,2}"
    r"[ \t]{0,8}\r?$(?!\n[-=]{20})",
    re.MULTILINE,
)
"""A whole line of dots, which is not the progress of tests above a summary."""

_INLINE: Final = re.compile(
    rf"""(?ix)
        {_DOTS}\s?[\[(]?\d[\d,]{{0,14}}(?:\ of\ \d[\d,]{{0,14}})?\ (?:more\ )?
            (?:tokens?|char(?:acter)?s?|bytes?|lines?)\ (?:were\ |was\ )?{_LEFT_OUT}[\])]?\s?{_DOTS}
      | \[{_DOTS}\s?{_LEFT_OUT}\ \d[\d,]{{0,14}}[\w\ ,]{{0,60}}{_DOTS}\]
      | \[{_DOTS}\s?\d[\d,]{{0,14}}[\w\ ,]{{0,60}}\ {_LEFT_OUT}\s?{_DOTS}\]
      | <response\ clipped>(?:\s?<NOTE>[^\n]{{0,300}})?
    """
)
"""What a harness puts into a line that it cuts."""

_SHOWING: Final = re.compile(
    r"(?i)\s{0,4}[\[(]\s?Showing (?:only )?lines? (?P<first>\d{1,9})\s?(?:-|\u2013|to)\s?"
    r"(?P<last>\d{1,9}) (?:of|out of) (?P<total>\d{1,9})\b[^\n]{0,300}[\])]\s{0,4}"
)
_END_SHOWN: Final = re.compile(
    rf"""(?ix)\s{{0,4}}(?P<bracket>[\[(<]?)\s?(?:{_SUBJECT}:?\s)?(?:showing|displaying|shown:?)\s
        (?:only\s)?(?:the\s)?(?P<end>first|last)\s\d[\d,]{{0,14}}\s?(?:{_UNIT}\s)?
        (?:of|out\ of)\s[^\n]{{0,200}}"""
)
"""Notes that say which lines, or which end, of all lines are shown."""

_NOTICE: Final = re.compile(
    rf"""(?ix)(?:(?:\W{{0,3}}(?:warning|note|notice|error|info|important)\W{{1,4}})?
        (?:(?:the|tool|command|full|your|this|some)\ ){{0,2}}
        (?:output|response|results?|content|contents|observation|lines)\b(?![:=(]\S)
        {_PROSE}{{0,120}}?\b{_LEFT_OUT}\b[^\n=;{{}}]{{0,260}}
      | (?:\W{{0,3}}(?:warning|note|notice)\W{{1,4}})truncated\ output\b[^\n=;{{}}]{{0,260}})"""
)
"""A sentence about the cut, which a harness writes above or below what it shows."""

_SHOWS_HEAD: Final = re.compile(r"(?i)\b(?:first|head|beginning|preview)\b")
_SHOWS_TAIL: Final = re.compile(r"(?i)\b(?:last|tail|end)\b")
_SAVED: Final = re.compile(
    r"(?i)\W{0,3}(?:the )?(?:full|complete|whole|entire) (?:output|result|response|log)\b"
    r"[^\n]{0,400}"
)
_PERSISTED: Final = "<persisted-output>"
_BETWEEN_LINES: Final = f"{CUT_HERE}\n{CUT_HERE}"
_PREVIEW_END: Final = re.compile(r"\n(?:\.{3}\s*)?\n?</persisted-output>\s*\Z")


def received(result: ToolResult, arguments: Mapping[str, Any] | None = None) -> ToolResult:
    r"""Return a result with :data:`CUT_HERE` where its own text says that a part was left out.

    A line that the call itself holds in its ``arguments``, as that of ``echo``, says nothing.

    Examples
    --------
    >>> received(ToolResult("a\n... [12,345 characters truncated] ...\nb")).text
    'a\n[... output truncated ...]\nb'
    >>> received(ToolResult("raise ValueError('output truncated')")).text
    "raise ValueError('output truncated')"
    >>> received(ToolResult("a\n...\nb"), {"command": "cat a; echo ...; cat b"}).text
    'a\n...\nb'
    """
    stated = [value for value in (arguments or {}).values() if isinstance(value, str)]
    text = with_cuts(result.text, "\n".join(stated))
    return result if text is result.text else replace(result, text=text)


def is_cut(text: str) -> bool:
    r"""Whether the agent was not shown all of an answer.

    Examples
    --------
    >>> is_cut(f"a\n{CUT_HERE}\nb"), is_cut("a\nb")
    (True, False)
    """
    return CUT_HERE in text


def whole_lines(text: str, *, with_beginnings: bool = False) -> list[str]:
    r"""Return the lines of an answer that the agent was surely shown from end to end.

    Beside a cut a line may be half of one, so that its name or number is another one's. With
    ``with_beginnings`` a line before a cut stays: what it begins with was shown. Two marks in
    succession stand between whole lines.

    Examples
    --------
    >>> whole_lines(f"a.py\nb.p\n{CUT_HERE}\n.py\nd.py")
    ['a.py', 'd.py']
    """
    lines = text.split("\n")
    if CUT_HERE not in text:
        return lines
    kept: list[str] = []
    is_behind = is_between = False
    for line, following in zip(lines, (*lines[1:], ""), strict=True):
        if line == CUT_HERE:
            while kept and not kept[-1].strip():
                kept.pop()
            is_second, is_between = is_between, line == following
            if kept and not (is_behind or is_between or is_second or with_beginnings):
                kept.pop()
            is_behind = not (is_second or is_between)
        elif not is_behind:
            kept.append(line)
        elif line.strip():
            is_behind = False
    return kept


def with_cuts(text: str, stated: str = "") -> str:
    """Return an answer's text with a line :data:`CUT_HERE` in place of each mark of a cut.

    A line that ``stated`` holds is no mark.
    """
    if text.lstrip()[: len(_PERSISTED)] == _PERSISTED:
        end = _PREVIEW_END.search(text, max(0, len(text) - _LONGEST_MARK))
        return text if end is None else f"{text[: end.start()]}\n{CUT_HERE}\n</persisted-output>"
    found = [*_marks(text), *_dots(text)]
    if stated:
        found = [mark for mark in found if not _holds(stated, text[mark[0] : mark[1]].strip())]
    return _placed(text, sorted(found)) if found else text


def _holds(stated: str, mark: str) -> bool:
    """Return whether a call holds a mark, and not as a part of a range or a path."""
    if mark not in stated:
        return False
    return re.search(rf"(?<![\w./]){re.escape(mark)}(?![\w./])", stated) is not None


def _dots(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the lines of dots between others; those of a session with Python are its own."""
    for line in _DOTS_ALONE.finditer(text):
        before = text[max(0, line.start() - _LONGEST_MARK) : line.start()]
        behind = text[line.end() : line.end() + _LONGEST_MARK]
        is_session = before.rpartition("\n")[0].rpartition("\n")[2].startswith((">>>", "..."))
        # A file may be three dots; none is a bracket around them.
        is_between = before.strip() or behind.strip() or line[0].lstrip()[:1] in ("[", "(", "<")
        if is_between and not is_session:
            yield line.start(), line.end(), "place"


def _marks(text: str) -> list[tuple[int, int, str]]:
    """Return where the marks stand, and of each whether it is a mark of a place or a notice."""
    found: list[tuple[int, int, str]] = []
    hints = [re.escape(hint) for hint in _HINTS if hint in text]
    if not hints:
        return found
    end_of_head = _end_of_lines(text, _FIRST_LINES)
    start_of_tail = _start_of_lines(text, _LAST_LINES)
    done = 0
    for number, hint in enumerate(re.finditer("|".join(hints), text)):
        at = hint.start()
        if at < done or number > _MOST_HINTS:
            continue
        low = max(done, at - _LONGEST_MARK, 0)
        start = text.rfind("\n", low, at) + 1 or (low if low in (0, done) else -1)
        end = text.find("\n", at, at + _LONGEST_MARK)
        end = len(text) if end < 0 and len(text) - at <= _LONGEST_MARK else end
        line = text[start:end] if start >= 0 and end >= 0 else ""
        is_at_edge = at < end_of_head or at >= start_of_tail
        is_end = bool(line) and is_at_edge and _is_outermost(text, start, end)
        kind = _kind(line, is_at_edge=is_at_edge, is_end=is_end) if line else ""
        if kind:
            found.append((start, end, kind))
            done = end
            continue
        inline = _INLINE.search(text, low, at + _LONGEST_MARK)
        if inline is not None and inline.start() <= at < inline.end():
            found.append((inline.start(), inline.end(), "inside"))
            done = inline.end()
    return found


def _kind(line: str, *, is_at_edge: bool, is_end: bool) -> str:
    if line.strip() == CUT_HERE:
        return "place"
    if _MARK.fullmatch(line) or _PLAIN_MARK.fullmatch(line) or _COUNTED_REST.fullmatch(line):
        return "rows" if _OF_ROWS.search(line) else "place"
    if is_end and _OUTERMOST.fullmatch(line):
        return "place"
    showing = _SHOWING.fullmatch(line)
    if showing is not None:
        first, last, total = (int(showing[name]) for name in ("first", "last", "total"))
        ends = {(True, False): "tail rows", (False, True): "head rows", (True, True): "both rows"}
        side = ends.get((first > 1, last < total), "")
        return side if is_end or not side else "rows"
    end = _END_SHOWN.fullmatch(line)
    if end is not None and (is_at_edge or end["bracket"]):
        side = "head" if end["end"].lower() == "first" else "tail"
        return f"{side} rows" if is_at_edge else "place"
    if is_at_edge and _NOTICE.fullmatch(line):
        if _SHOWS_HEAD.search(line) and _SHOWS_TAIL.search(line):
            return "both"
        return "head" if _SHOWS_HEAD.search(line) else "notice"
    return ""


def _placed(text: str, found: list[tuple[int, int, str]]) -> str:
    """Return a text with its marks replaced.

    A notice only says that there is a cut; where no mark shows its place, what stands at both ends
    of the text need not be the beginning and the end of the answer.
    """
    has_place = any(kind in ("place", "rows", "inside") for _, _, kind in found)
    parts: list[str] = []
    is_open_before = is_open_behind = are_rows = False
    position = 0
    for start, end, kind in found:
        parts.append(text[position:start])
        position = end
        if kind == "place":
            parts.append(CUT_HERE)
        elif kind == "rows":
            parts.append(_BETWEEN_LINES)
        elif kind == "inside":
            parts.append(f"\n{CUT_HERE}\n")
        else:
            is_at_end = not text[end:].strip()
            kind, _, rows = kind.partition(" ")
            are_rows |= bool(rows)
            is_open_before |= kind in ("tail", "both") or (kind == "notice" and not is_at_end)
            is_open_behind |= kind in ("head", "both", "notice")
    parts.append(text[position:])
    shown = _without_saved("".join(parts))
    if has_place:
        return shown
    mark = _BETWEEN_LINES if are_rows else CUT_HERE
    shown = f"{mark}\n{shown.lstrip()}" if is_open_before else shown
    return f"{shown.rstrip()}\n{mark}" if is_open_behind else shown


def _without_saved(text: str) -> str:
    """Return a text without the line behind a mark that says where the whole answer lies."""
    parts = text.split(CUT_HERE)
    for number, part in enumerate(parts[1:], start=1):
        note = _SAVED.match(part[: 2 * _LONGEST_MARK].lstrip())
        if note is not None:
            behind = part.lstrip()[note.end() :]
            parts[number] = "\n" + behind.lstrip("\n")
    return CUT_HERE.join(parts)


_NOT_BLANK: Final = re.compile(r"\S")


def _is_outermost(text: str, start: int, end: int) -> bool:
    """Return whether nothing stands before a line, or nothing behind it."""
    first = _NOT_BLANK.search(text)
    return _NOT_BLANK.search(text, end) is None or (first is not None and first.start() >= start)


def _end_of_lines(text: str, count: int) -> int:
    position = 0
    for _ in range(count):
        position = text.find("\n", position) + 1
        if not position:
            return len(text)
    return position


def _start_of_lines(text: str, count: int) -> int:
    position = len(text.rstrip())
    for _ in range(count):
        position = text.rfind("\n", 0, position)
        if position < 0:
            return 0
    return position
