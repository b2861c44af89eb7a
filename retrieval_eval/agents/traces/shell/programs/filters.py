"""What a filter does to the lines that it reads: the one table of it.

A filter behind a search or a listing decides what its output still tells. Where whole lines pass,
or the beginning of each, the lines mean what they meant before; where a filter may have changed
them, no name in its output need be that of a file.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from retrieval_eval.agents.traces.shell.programs.readers import READERS
from retrieval_eval.agents.traces.shell.steps import Invocation, scan, words

Kind = Literal["selects", "begins", "numbers", "names", "ends", "changes", "summarises"]


class Effect(Struct, frozen=True, gc=False):
    """What a filter does to lines.

    ``selects``: some or all lines pass whole, in any order. ``begins``: of each line only the
    beginning passes, ``width`` characters where that is known. ``numbers``: a number stands before
    each line. ``names``: of each line only what stands before the first colon passes. ``ends``:
    lines pass whole but for the first or the last, which may be half a line. ``changes``: lines
    may be other ones. ``summarises``: something is printed whatever is read.
    """

    kind: Kind
    width: int | None = None


SELECTS: Final = Effect("selects")
CHANGES: Final = Effect("changes")
_BEGINS: Final = Effect("begins")
_NUMBERS: Final = Effect("numbers")
_NAMES: Final = Effect("names")
_LONGEST_PROGRAM: Final = 2000
_WHOLE: Final = words("sort tac shuf less more tee")


def effect_of(stage: Invocation) -> Effect | None:
    """Return what a filter does to lines; None for a program that is no filter of lines."""
    if stage.program in _WHOLE:
        return SELECTS
    filtering = _FILTERS.get(stage.program)
    if filtering is not None:
        return filtering(stage)
    return CHANGES if stage.program in READERS else None


def _of_cat(stage: Invocation) -> Effect:
    options = scan(stage.args)
    if options.has("n", "b", "number", "number-nonblank", "style"):
        return _NUMBERS
    shows_ends = options.has("A", "e", "E", "t", "v", "T", "show-all", "show-ends")
    return _BEGINS if shows_ends else SELECTS


def _of_head(stage: Invocation) -> Effect:
    return Effect("ends") if scan(stage.args, "nc", "lines bytes").has("c", "bytes") else SELECTS


def _of_uniq(stage: Invocation) -> Effect:
    return _NUMBERS if scan(stage.args, "fsw").has("c", "count") else SELECTS


_SUMMARISES: Final = words(
    "c count l files-with-matches L files-without-match q quiet silent count-matches"
)
_OTHER_THAN_LINES: Final = words(
    "json b byte-offset Z null replace 0 heading pretty p vimgrep column"
)
_NAME_ONLY: Final = re.compile(r"\^\[\^:\](?:\*|\\?\+)")


def _of_grep(stage: Invocation) -> Effect:
    options = scan(stage.args, "efmABCdD")
    if options.has("o", "only-matching"):
        patterns = options.values.get("e") or options.operands[:1]
        is_name = len(patterns) == 1 and _NAME_ONLY.fullmatch(patterns[0].raw)
        return _NAMES if is_name and not options.has("n") else CHANGES
    if options.has(*_SUMMARISES):
        return Effect("summarises")
    if options.has(*_OTHER_THAN_LINES) or (stage.program == "rg" and options.has("r")):
        return CHANGES
    return _NUMBERS if options.has("n", "line-number") else SELECTS


def _of_cut(stage: Invocation) -> Effect:
    options = scan(stage.args, "bcdf", "delimiter fields bytes characters output-delimiter")
    if options.has("complement", "output-delimiter"):
        return CHANGES
    positions = options.text("c", "characters", "b", "bytes")
    if positions is not None:
        bounds = re.fullmatch(r"1?-(\d{0,9})|1", positions)
        if bounds is None:
            return CHANGES
        return SELECTS if bounds[1] == "" else Effect("begins", int(bounds[1] or 1))
    fields = re.fullmatch(r"(?:1|1?-\d{0,9}|1(?:,\d)+)", options.text("f", "fields") or "")
    delimiter = options.text("d", "delimiter")
    if fields is None or delimiter not in (":", " "):
        return CHANGES
    if fields[0] in ("1", "1-1", "-1"):
        return _NAMES if delimiter == ":" else _BEGINS
    is_from_start = re.fullmatch(r"1?-\d{0,9}|1,2(?:,3)?(?:,4)?", fields[0]) is not None
    return _BEGINS if is_from_start else CHANGES


def _of_column(stage: Invocation) -> Effect:
    options = scan(stage.args, "sco")
    return _BEGINS if options.has("t", "table") and not options.has("s", "separator") else CHANGES


def _of_colrm(stage: Invocation) -> Effect:
    first = stage.args[0].text if stage.args else None
    is_known = first is not None and re.fullmatch(r"[1-9]\d{0,8}", first)
    return Effect("begins", int(first) - 1) if first is not None and is_known else CHANGES


_PATH_OF_RECORD: Final = re.compile(r"(?:select\([^()]{1,200}\)\s*\|\s*)?\.data\.path\.text")


def _of_jq(stage: Invocation) -> Effect:
    """Return what ``jq`` does to the records of a search: it may print their paths alone."""
    options = scan(stage.args, "fL", "indent")
    program = options.operands[0].raw.strip() if options.operands else ""
    return _NAMES if _PATH_OF_RECORD.fullmatch(program) else CHANGES


def _of_python(stage: Invocation) -> Effect | None:
    return CHANGES if stage.texts()[:2] == ["-m", "json.tool"] else None


_NULL: Final = re.compile(r"\\(?:0{1,3}|x00)")


def _of_tr(stage: Invocation) -> Effect:
    options = scan(stage.args)
    sets = [arg.raw for arg in options.operands]
    if options.has("d", "delete") and sets in (["\\r"], ["\r"], ["\\015"]):
        return SELECTS
    if options.has("s", "squeeze-repeats") and len(sets) == 1 and not sets[0].strip(" "):
        return _BEGINS
    is_divided = len(sets) == 2 and _NULL.fullmatch(sets[0]) and sets[1] in ("\\n", "\n")
    return SELECTS if is_divided else CHANGES


# --------------------------------------------------------------------------------------------------
# sed, and the substitutions that it has in common with perl.

_ADDRESS: Final = r"(?:\d{1,9}|\$|/(?:[^/\\\n]|\\.){0,500}/I?)"
_CHOICE: Final = re.compile(
    rf"\s*(?:{_ADDRESS}(?:\s*,\s*[+~]?{_ADDRESS}|~\d{{1,9}})?)?\s*!?\s*"
    r"(?:[pdqPD]|\{\s*[pdq](?:\s*;\s*[pdq])*\s*;?\s*\})\s*(?:;|\n|$)"
)
_SUBSTITUTION: Final = re.compile(
    r"\s*s(?P<mark>[^\w\s\\])(?P<old>(?:(?!(?P=mark))[^\\\n]|\\.){0,500})(?P=mark)"
    r"(?P<new>(?:(?!(?P=mark))[^\\\n]|\\.){0,500})(?P=mark)[gIipm0-9]{0,6}\s*(?:;|\n|$)"
)
_LEADING_DOT: Final = re.compile(r"\^\\?\(?\\?[.]\\?/\\?\)?")
_TRAILING_SPACE: Final = re.compile(r"(?:\\s|\\r|\[\[:space:\]\]| |\[ \\t\])(?:\*|\\?\+)?\$")
_FROM_COLON: Final = re.compile(r":(?:\[0-9\](?:\*|\\?\+):?|\\d\+:?)?\.\*\$?")
_TO_COLON: Final = re.compile(r"\^?\\?\(\[\^:\](?:\*|\\?\+)\\?\)(?::?\.\*)\$?")
_TO_WIDTH: Final = re.compile(r"\^?\\?\(\^?\.\\?\{(?:[01]?,)?(\d{1,9})\\?\}\\?\)\.(?:\*|\\?\+)\$?")
_KEPT: Final = re.compile(r"[\\$]\{?1\}?(?:\.{3}|\u2026)?")


def _of_sed(stage: Invocation) -> Effect:
    options = scan(stage.args, "efl", "expression file line-length")
    if options.has("f", "file", "i", "in-place"):
        return CHANGES
    given = [arg for name in ("e", "expression") for arg in options.values.get(name, [])]
    scripts = [arg.text for arg in given or options.operands[:1]]
    known = [script for script in scripts if script is not None]
    if not known or len(known) < len(scripts):
        return CHANGES
    return _of_parts(";".join(known).strip())


def _of_parts(script: str) -> Effect:
    """Return what commands of sed do one after the other; the last to change lines counts."""
    found = SELECTS
    position = 0
    while position < len(script):
        part = _CHOICE.match(script, position) or _SUBSTITUTION.match(script, position)
        if part is None or part.end() == position:
            return CHANGES
        position = part.end()
        effect = _of_substitution(part) if part.re is _SUBSTITUTION else SELECTS
        if effect is not SELECTS and found is not SELECTS:
            return CHANGES
        found = found if effect is SELECTS else effect
    return found


def _of_substitution(part: re.Match[str]) -> Effect:
    old, new = part["old"], part["new"]
    if not new:
        if _LEADING_DOT.fullmatch(old) or _TRAILING_SPACE.fullmatch(old):
            return SELECTS
        return _NAMES if _FROM_COLON.fullmatch(old) else CHANGES
    if _KEPT.fullmatch(new):
        width = _TO_WIDTH.fullmatch(old)
        if width is not None:
            return Effect("begins", int(width[1]))
        return _NAMES if _TO_COLON.fullmatch(old) and "." not in new else CHANGES
    return CHANGES


_PERL_CHOICE: Final = re.compile(
    r"\s*print(?:\s+\$_)?\s+(?:if|unless)\s+(?!.*?(?:=~|\b(?:s|tr|y)[/{|#]|\$_\s*=))[^;{}]{1,500};?\s*"
)
_PERL_CUT: Final = re.compile(
    r"\s*print\(?\s*substr\(?\s*\$_\s*,\s*0\s*,\s*(\d{1,9})[^;]{0,60};?\s*"
)


def _of_perl(stage: Invocation) -> Effect:
    options = scan(stage.args, "eEFiMI0")
    flags, operands = set(options.values), list(options.operands)
    code = options.text("e", "E")
    if code is None or operands or flags & {"i", "a", "F", "0"}:
        return CHANGES
    if "p" in flags:
        part = _SUBSTITUTION.fullmatch(code)
        return _of_substitution(part) if part is not None else CHANGES
    if "n" not in flags:
        return CHANGES
    if _PERL_CHOICE.fullmatch(code[:_LONGEST_PROGRAM]):
        return SELECTS
    cut = _PERL_CUT.fullmatch(code)
    return Effect("begins", int(cut[1])) if cut is not None else CHANGES


# --------------------------------------------------------------------------------------------------
# awk.

_ALTERS: Final = re.compile(
    r"\bg?sub\(|\$\w+\s*[-+*/]?=(?!=)|\bNF\s*[-+]?=(?!=)|\bgetline\b|\bsystem\("
)
_STATED_SEPARATOR: Final = re.compile(r"^\s*BEGIN\s*\{\s*FS\s*=\s*\"([^\"]{1,5})\"\s*;?\s*\}")
_AT_EDGES: Final = re.compile(r"\b(?:BEGIN|END)\s*\{")
_PRINTED: Final = re.compile(r"\bprint(f?)\b([^;}\n|>]{0,500})")
_AWK_CUT: Final = re.compile(r"\(?substr\(\$0,[01],(\d{1,9})\)(?:\"[^\"]{0,10}\")?\)?")
_NUMBERED: Final = re.compile(r"\(?F?NR(?:\"[\t: |]{1,3}\"|\"\\t\"|\":\\t\"|,)\$0\)?")


def _of_awk(stage: Invocation) -> Effect:
    options = scan(stage.args, "Fvf", "file assign field-separator")
    program = options.operands[0].text if options.operands else None
    if program is None or options.has("f", "file") or len(program) > _LONGEST_PROGRAM:
        return CHANGES
    separator = options.text("F", "field-separator")
    stated = _STATED_SEPARATOR.match(program)
    if stated is not None:
        separator, program = stated[1], program[stated.end() :]
    if _AT_EDGES.search(program):
        return Effect("summarises")
    if _ALTERS.search(program):
        return CHANGES
    found = {_of_print(printed[1], printed[2], separator) for printed in _PRINTED.finditer(program)}
    if not found:
        outside = re.sub(r"\{[^{}]*\}", "", program).strip(" ;\n")
        is_choice = "{" not in program or (outside and outside != program.strip(" ;\n"))
        return SELECTS if is_choice else CHANGES
    return found.pop() if len(found) == 1 else CHANGES


def _of_print(is_formatted: str, printed: str, separator: str | None) -> Effect:
    text = re.sub(r"\s+", "", printed)
    if is_formatted:
        return CHANGES
    if text in ("", "$0", "($0)"):
        return SELECTS
    cut = _AWK_CUT.fullmatch(text)
    if cut is not None:
        return Effect("begins", int(cut[1]))
    if _NUMBERED.fullmatch(text):
        return _NUMBERS
    if separator in (":", "[:]"):
        if text == "$1":
            return _NAMES
        return _BEGINS if re.fullmatch(r"\$1\":\"\$2(?:\":\"\$3|\":\")?", text) else CHANGES
    return _BEGINS if text == "$1" and separator in (None, " ") else CHANGES


_FILTERS: Final[dict[str, Callable[[Invocation], Effect | None]]] = {
    **dict.fromkeys(("cat", "bat", "batcat"), _of_cat),
    **dict.fromkeys(("head", "tail"), _of_head),
    **dict.fromkeys(("grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ack-grep"), _of_grep),
    **dict.fromkeys(("sed", "gsed"), _of_sed),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _of_awk),
    **dict.fromkeys(("fmt", "pr"), lambda _: CHANGES),
    **dict.fromkeys(("python", "python3"), _of_python),
    "jq": _of_jq,
    "nl": lambda _: _NUMBERS,
    "uniq": _of_uniq,
    "cut": _of_cut,
    "column": _of_column,
    "colrm": _of_colrm,
    "expand": lambda _: _BEGINS,
    "tr": _of_tr,
    "perl": _of_perl,
}
"""Filter → what it does to lines, by its arguments."""


_BEFORE: Final = re.compile(r"^[ ]{0,20}\d{1,9}(?:[\t ]|:[\t ]?|-)")


def line_without_count(line: str) -> str:
    r"""Return a line without the number that a filter put before it.

    Examples
    --------
    >>> line_without_count("      3 src/a.py"), line_without_count("     1\tsrc/a.py:9:x")
    ('src/a.py', 'src/a.py:9:x')
    """
    return _BEFORE.sub("", line, count=1)
