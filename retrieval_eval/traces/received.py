"""How much of an answer the agent can have received, and which parts.

Every harness cuts long answers: it keeps the head, the tail, both, or a preview of a result that it
saved to a file. A dialect's ``answer`` knows the fields and wordings of its harness; wordings that
no dialect knows are recognised here by their shape. Either way the text that goes on has a line
:data:`~retrieval_eval.records.CUT_HERE` where a part is left out, and readers of results ask only
for that line. The lines beside it may be halves.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from retrieval_eval.records import CUT_HERE, ToolResult

_HINTS: Final = (
    *("runcat", "RUNCAT", "mitted", "OMITTED", "lided", "ELIDED", "lipped", "CLIPPED", "kipped"),
    *("cut off", "Showing ", "too l", "TOO L", "more lines", "<persisted-output>", "nipped"),
    *("xceed", "not shown", "rimmed", "hidden", "ollapsed", "SNIP", " snip", "chars]", "\u22ee"),
    *("apped at", "imited to", "arlier output"),
)
"""Parts of words one of which every mark of a cut holds."""

_HINT: Final = re.compile("|".join(map(re.escape, _HINTS)))
_LONGEST_MARK: Final = 400
_MOST_HINTS: Final = 20_000
_FIRST_LINES: Final = 3
_LAST_LINES: Final = 6

_LEFT_OUT: Final = (
    r"(?:truncated|truncation|omitted|elided|clipped|skipped|snipped|trimmed|cut\ off|not\ shown"
    r"|too\ (?:long|large)|exceed(?:s|ed))"
)
_DOTS: Final = r"(?:\.{3}|\u2026)"
_COUNT: Final = r"\d[\d,._]{0,14}(?:\ of\ \d[\d,._]{0,14})?\ ?(?:more\ )?(?:[KMG]i?B|\w{1,12})"
_PROSE: Final = r"[\w ,.:;'%+/<>()\[\]\u2026-]"
_SUBJECT: Final = (
    r"(?:output|response|content|contents|observation|result|text|log|message|lines|characters"
    r"|file|stdout|stderr|middle|rest)"
)
_MARK: Final = re.compile(
    rf"""(?ix)\s{{0,8}}(?:
        # dots on both sides, or a bracket around dots: [... output truncated ...], …12 tokens cut…
        [\[(<{{]{{0,2}}\s?{_DOTS}{_PROSE}{{0,200}}?\b{_LEFT_OUT}\b{_PROSE}{{0,200}}?
            {_DOTS}\s?[\])>}}]{{0,2}}
      | [\[(<{{]{{1,2}}\s?{_DOTS}{_PROSE}{{0,200}}?\b{_LEFT_OUT}\b{_PROSE}{{0,200}}[\])>}}]{{1,2}}
        # a number of lines that are left out: [12,345 characters truncated], ... 9 lines omitted
      | (?:{_DOTS}|[\[(<*#=-]{{1,8}})\s?[\[(]?\+?{_COUNT}\ (?:\w{{1,12}}\ ){{0,2}}
            {_LEFT_OUT}\b{_PROSE}{{0,160}}\s?[\])>*#=.-]{{0,8}}
      | [\[(<]\s?\+?\d[\d,]{{0,14}}\ (?:more\ )?lines?\ (?:in\ file|remaining|left)\b
            [^\n]{{0,160}}[\])>]
        # a note about the output in brackets: <response clipped>, [Output truncated]
      | (?:{_DOTS}\s?)?(?:[\[(<]{{1,3}}|[*=#-]{{3,8}})\s?(?:
            (?:(?:the|tool|command|full|remaining|of|this|snip:)\ ){{0,3}}
            {_SUBJECT}\ (?:(?:part|is|was|were|has\ been|too|to)\ )?{_LEFT_OUT}\b{_PROSE}{{0,160}}
          | (?:{_SUBJECT}\ )?(?:truncated|elided|clipped|omitted|snipped|cut\ off)
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
            (?:\ (?:more|hidden|skipped|collapsed|left|below|above))?
            (?:\s?[\])>}~=*\u2500\u2501\u2014\u2026\u22ee.]{1,12})?
      | [\[(<*#=-]{1,8}\s?snip(?:ped)?\b[^\n]{0,60}[\])>*#=-]{1,8}
      | <truncated\s?/?>
      | \[earlier\ output\ omitted\b[^\n]{0,80}\]
      | \[?output\ (?:was\ |is\ )?(?:capped\ at|limited\ to)\ \d[^\n]{0,120}
    )\s{0,8}"""
)
"""A whole line that counts what is not shown, or says that something is left out."""

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
_PREVIEW_END: Final = re.compile(r"\n(?:\.{3}\s*)?\n?</persisted-output>\s*\Z")


def received(result: ToolResult) -> ToolResult:
    r"""Return a result with :data:`CUT_HERE` where its own text says that a part was left out.

    Examples
    --------
    >>> received(ToolResult("a\n... [12,345 characters truncated] ...\nb")).text
    'a\n[... output truncated ...]\nb'
    >>> received(ToolResult("raise ValueError('output truncated')")).text
    "raise ValueError('output truncated')"
    """
    text = with_cuts(result.text)
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
    ``with_beginnings`` a line before a cut stays: what it begins with was shown.

    Examples
    --------
    >>> whole_lines(f"a.py\nb.p\n{CUT_HERE}\n.py\nd.py")
    ['a.py', 'd.py']
    """
    lines = text.split("\n")
    if CUT_HERE not in text:
        return lines
    kept: list[str] = []
    is_behind = False
    for line in lines:
        if line == CUT_HERE:
            while kept and not kept[-1].strip():
                kept.pop()
            if kept and not is_behind and not with_beginnings:
                kept.pop()
            is_behind = True
        elif not is_behind:
            kept.append(line)
        elif line.strip():
            is_behind = False
    return kept


def with_cuts(text: str) -> str:
    """Return an answer's text with a line :data:`CUT_HERE` in place of each mark of a cut."""
    for hint in _HINTS:
        if hint in text:
            break
    else:
        return text
    if text.lstrip()[: len(_PERSISTED)] == _PERSISTED:
        end = _PREVIEW_END.search(text, max(0, len(text) - _LONGEST_MARK))
        return text if end is None else f"{text[: end.start()]}\n{CUT_HERE}\n</persisted-output>"
    found = list(_marks(text))
    if not found:
        return text
    return _placed(text, found)


def _marks(text: str) -> list[tuple[int, int, str]]:
    """Return where the marks stand, and of each whether it is a mark of a place or a notice."""
    found: list[tuple[int, int, str]] = []
    end_of_head = _end_of_lines(text, _FIRST_LINES)
    start_of_tail = _start_of_lines(text, _LAST_LINES)
    done = 0
    for number, hint in enumerate(_HINT.finditer(text)):
        at = hint.start()
        if at < done or number > _MOST_HINTS:
            continue
        low = max(done, at - _LONGEST_MARK, 0)
        start = text.rfind("\n", low, at) + 1 or (low if low in (0, done) else -1)
        end = text.find("\n", at, at + _LONGEST_MARK)
        end = len(text) if end < 0 and len(text) - at <= _LONGEST_MARK else end
        line = text[start:end] if start >= 0 and end >= 0 else ""
        is_at_edge = at < end_of_head or at >= start_of_tail
        is_last = is_at_edge and not text[end:].strip()
        kind = _kind(line, is_at_edge=is_at_edge, is_last=is_last) if line else ""
        if kind:
            found.append((start, end, kind))
            done = end
            continue
        inline = _INLINE.search(text, low, at + _LONGEST_MARK)
        if inline is not None and inline.start() <= at < inline.end():
            found.append((inline.start(), inline.end(), "inside"))
            done = inline.end()
    return found


def _kind(line: str, *, is_at_edge: bool, is_last: bool) -> str:
    if line.strip() == CUT_HERE or _MARK.fullmatch(line) or _PLAIN_MARK.fullmatch(line):
        return "place"
    showing = _SHOWING.fullmatch(line)
    if showing is not None and is_last:
        first, last, total = (int(showing[name]) for name in ("first", "last", "total"))
        return {(True, False): "tail", (False, True): "head", (True, True): "both"}.get(
            (first > 1, last < total), ""
        )
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
    has_place = any(kind in ("place", "inside") for _, _, kind in found)
    parts: list[str] = []
    is_open_before = is_open_behind = False
    position = 0
    for start, end, kind in found:
        parts.append(text[position:start])
        position = end
        if kind == "place":
            parts.append(CUT_HERE)
        elif kind == "inside":
            parts.append(f"\n{CUT_HERE}\n")
        else:
            is_at_end = not text[end:].strip()
            is_open_before |= kind in ("tail", "both") or (kind == "notice" and not is_at_end)
            is_open_behind |= kind in ("head", "both", "notice")
    parts.append(text[position:])
    shown = _without_saved("".join(parts))
    if has_place:
        return shown
    shown = f"{CUT_HERE}\n{shown.lstrip()}" if is_open_before else shown
    return f"{shown.rstrip()}\n{CUT_HERE}" if is_open_behind else shown


def _without_saved(text: str) -> str:
    """Return a text without the line behind a mark that says where the whole answer lies."""
    parts = text.split(CUT_HERE)
    for number, part in enumerate(parts[1:], start=1):
        note = _SAVED.match(part[: 2 * _LONGEST_MARK].lstrip())
        if note is not None:
            behind = part.lstrip()[note.end() :]
            parts[number] = "\n" + behind.lstrip("\n")
    return CUT_HERE.join(parts)


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
