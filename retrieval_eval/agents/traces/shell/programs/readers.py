"""Programs that print the files they are given, and those that write, move or remove files."""

from __future__ import annotations

import posixpath
import re
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from retrieval_eval.agents.traces.shell.plan import (
    WHOLE,
    Operand,
    Plan,
    Spans,
    awk_spans,
    opaque,
    operand_of,
    operands_of,
    reader,
    sed_spans,
)
from retrieval_eval.agents.traces.shell.steps import Arg, Invocation, Options, scan, words
from retrieval_eval.records import FileState

_FILTER_VERBS: Final = words("e eval ea eval-all")
_NAMED_VALUES: Final = words("--arg --argjson --slurpfile --rawfile")
_FROM_LINE: Final = re.compile(r"\+(\d{1,9})")


class _Reader(Struct, frozen=True, gc=False):
    short: str = ""
    long: str = ""
    skip: int = 0
    is_whole: bool = True
    is_selective: bool = False
    is_joint: bool = False


READERS: Final[dict[str, _Reader]] = {
    "cat": _Reader(),
    "tac": _Reader(is_whole=False),
    "nl": _Reader("bdfhilnsvw"),
    "less": _Reader("bhjkoPptTxyz"),
    "more": _Reader(),
    "bat": _Reader("lrHm", "language line-range theme style color"),
    "batcat": _Reader("lrHm", "language line-range theme style color"),
    "sort": _Reader("kotST", "key output field-separator", is_whole=False),
    "uniq": _Reader("fsw", is_whole=False),
    "cut": _Reader("bcdf", "delimiter fields bytes characters", is_whole=False),
    "fold": _Reader("w"),
    "column": _Reader("sco"),
    "paste": _Reader("d"),
    "rev": _Reader(is_whole=False),
    "tr": _Reader(skip=2, is_whole=False),
    "expand": _Reader("t"),
    "od": _Reader("AjNStw"),
    "xxd": _Reader("clso", is_whole=False),
    "hexdump": _Reader("nse", is_whole=False),
    "strings": _Reader("nte", is_whole=False),
    "jq": _Reader("fL", "indent", skip=1, is_whole=False, is_selective=True),
    "yq": _Reader("", skip=1, is_whole=False, is_selective=True),
    "xmllint": _Reader("", "xpath", is_whole=False, is_selective=True),
    "diff": _Reader(
        "UCIxLWF", "context unified label exclude", is_whole=False, is_selective=True, is_joint=True
    ),
    "comm": _Reader(is_whole=False, is_selective=True, is_joint=True),
    "join": _Reader("12ajot", is_whole=False, is_selective=True, is_joint=True),
    "zcat": _Reader(),
    "base64": _Reader("w"),
}
"""Program → its options with values, and whether its whole input is what it prints."""


def plan_reader(stage: Invocation) -> Plan:
    """Return the plan of ``cat`` and its relatives."""
    row = READERS[stage.program]
    if stage.program in ("jq", "yq"):
        stage = replace(stage, args=_from_filter(stage.args))
    options = scan(stage.args, row.short, row.long)
    files = [arg for arg in options.operands[row.skip :] if not _is_start(stage, arg)]
    operands = operands_of(files, stage)
    if stage.program == "diff" and options.has("r", "recursive"):
        return opaque(stage, "compares folders", operands=operands, is_open=True)
    spans: Spans | None = WHOLE if row.is_whole else None
    if stage.program in ("bat", "batcat") and options.has("r", "line-range"):
        bounds = re.fullmatch(r"(\d+):(\d+)", options.text("r", "line-range") or "")
        spans = ((int(bounds[1]), int(bounds[2])),) if bounds else None
    plan = reader(stage, operands, spans)
    return replace(
        plan,
        is_selective=row.is_selective,
        is_joint=row.is_joint,
        has_numbers=counts_lines(stage),
    )


def counts_lines(stage: Invocation) -> bool:
    """Return whether a program prints the number of each line of one file before it."""
    if stage.program == "nl":
        return "a" in (scan(stage.args, READERS["nl"].short, "body-numbering").text("b") or "")[:1]
    if stage.program == "cat":
        options = scan(stage.args)
        return options.has("n", "number") and not options.has("b", "s", "squeeze-blank")
    if stage.program in ("bat", "batcat"):
        return scan(stage.args, READERS["bat"].short).has("n", "number")
    return False


def _from_filter(args: tuple[Arg, ...]) -> tuple[Arg, ...]:
    """Return the arguments of ``jq`` or ``yq`` without a verb and without named values."""
    if args and args[0].raw in _FILTER_VERBS:
        args = args[1:]
    named = {i for i, arg in enumerate(args) if arg.raw in _NAMED_VALUES}
    return tuple(arg for i, arg in enumerate(args) if named.isdisjoint((i, i - 1, i - 2)))


def _is_start(stage: Invocation, arg: Arg) -> bool:
    """Return whether an argument tells a pager where to begin (``less +10 a.py``)."""
    return stage.program in ("less", "more") and arg.raw.startswith("+")


def plan_head(stage: Invocation) -> Plan:
    """Return the plan of ``head`` or ``tail``; several files are named by ``==> x <==``."""
    options = scan(stage.args, "nc", "lines bytes")
    files = [arg for arg in options.operands if not _FROM_LINE.fullmatch(arg.raw)]
    operands = operands_of(files, stage)
    spans = head_spans(options) if stage.program == "head" else tail_spans(options)
    plan = reader(stage, operands, spans)
    many = len(operands) > 1 or any(o.kind != "file" for o in operands)
    if many and not options.has("q"):
        return replace(plan, evidence="names", style="headers")
    return plan


def head_spans(options: Options) -> Spans | None:
    """Return the stream positions that ``head`` lets through."""
    if options.has("c", "bytes"):
        return None
    number = options.number("n", "lines", "#")
    if number is None:
        return None if options.has("n", "lines") else ((1, 10),)
    return ((1, number),) if number else None


def tail_spans(options: Options) -> Spans | None:
    """Return the stream positions that ``tail -n +K`` lets through; None for the last N."""
    text = options.text("n", "lines") or next(
        (a.raw for a in options.operands if _FROM_LINE.fullmatch(a.raw)), ""
    )
    match = _FROM_LINE.fullmatch(text or "")
    return ((max(int(match[1]), 1), None),) if match else None


def plan_sed(stage: Invocation) -> Plan:
    """Return the plan of ``sed``: with ``-i`` a write, with ``-n a,bp`` a read of those lines."""
    options = scan(stage.args, "efl", "expression file line-length")
    operands = [arg for arg in options.operands if arg.text != ""]
    scripts = [arg.text for name in ("e", "expression") for arg in options.values.get(name, [])]
    if not scripts and not options.has("f", "file") and operands:
        scripts = [operands.pop(0).text]
    files = operands_of(operands, stage)
    if options.has("i", "in-place"):
        return Plan(stage.program, "file_write", "written", "write", files, stage.cwd)
    is_quiet = options.has("n", "quiet", "silent")
    known = [script for script in scripts if script is not None]
    spans: Spans | None = None
    if len(known) == len(scripts) and known:
        spans = sed_spans(";".join(known)) if is_quiet else _unquiet(known)
    is_selective = is_quiet and spans is None
    plan = replace(reader(stage, files, spans), is_selective=is_selective)
    if spans is None or len(files) < 2 or options.has("s", "separate"):
        return plan
    # Lines are counted over all files.
    return limited(replace(plan, spans=WHOLE), "first", spans)


def limited(plan: Plan, end: Literal["first", "last"], wanted: Spans | None) -> Plan:
    """Return the plan of several files of which only some lines pass: those at one ``end``.

    Which files lines in the middle belong to is not known, nor whose are the first of lines that
    were sorted.
    """
    if wanted == WHOLE:
        return plan
    is_in_order = plan.spans == WHOLE or plan.end == end
    is_at_end = end == "last" or wanted is None or (len(wanted) == 1 and wanted[0][0] == 1)
    if not (is_in_order and is_at_end):
        return replace(plan, spans=None, end=None, most=None, is_selective=True)
    most = wanted[0][1] if wanted is not None and end == "first" else None
    if plan.end is not None and plan.most is not None:
        most = plan.most if most is None else min(most, plan.most)
    return replace(plan, spans=None, end=end, most=most)


def _unquiet(scripts: list[str]) -> Spans | None:
    quit_at = re.fullmatch(r"(\d{1,9})q", scripts[0].strip()) if len(scripts) == 1 else None
    if quit_at:
        return ((1, int(quit_at[1])),)
    is_substitution = all(re.match(r"\s*s\W", script) for script in scripts)
    return WHOLE if is_substitution else None


AWKS: Final = ("awk", "gawk", "mawk", "nawk")
_PRINTS_NUMBER: Final = re.compile(
    r"\bprintf?\s*\(?\s*(?:\"[^\"%]{0,9}%\d{0,3}d[\t: |\\][^\"]{0,20}\"\s*,\s*)?F?NR\b"
)
_AT_END: Final = re.compile(r"\b(?:BEGIN|END)\s*\{[^{}]*\}")


def plan_awk(stage: Invocation) -> Plan:
    """Return the plan of ``awk``: exact lines for programs on ``NR``, else a selective read.

    A program that prints only behind the last line states something about its files.
    """
    options = scan(stage.args, "Fvf", "file assign field-separator")
    operands = list(options.operands)
    program = None
    if not options.has("f", "file") and operands:
        program = operands.pop(0).text
    operands = [a for a in operands if not re.match(r"[A-Za-z_]\w*=", a.raw)]
    spans = awk_spans(program) if program is not None else None
    plan = reader(stage, operands_of(operands, stage), spans)
    numbers = program is not None and _PRINTS_NUMBER.search(program[:_LONGEST_PROGRAM]) is not None
    plan = replace(plan, is_selective=spans is None, has_numbers=numbers)
    if program is not None and _states_at_end(program[:_LONGEST_PROGRAM]):
        return replace(plan, access="listed", category="file_search", is_selective=False)
    if spans is None or len(plan.operands) < 2 or "FNR" in (program or ""):
        return plan
    return limited(replace(plan, spans=WHOLE), "first", spans)


_LONGEST_PROGRAM: Final = 2000


def _states_at_end(program: str) -> bool:
    """Return whether a program of awk prints nothing but behind the last line, by ``END``."""
    rest = _AT_END.sub("", program)
    if rest == program or "END" not in program or "print" in rest:
        return False
    return not re.sub(r"\{[^{}]*\}", "", rest).strip() or "{" in rest


# --------------------------------------------------------------------------------------------------
# Programs that write, move or remove files.

ALL_OPERANDS: Final = frozenset(["touch", "rm", "unlink", "truncate", "shred", "tee"])
"""Programs that write every operand."""

CREATORS: Final = frozenset(["touch", "tee"])
"""Those of them as which files are created."""

LAST_OPERAND: Final = frozenset(["cp", "mv", "install", "ln", "rsync"])
"""Programs that write their last operand and show nothing of the others."""


WITH_VALUE: Final[dict[str, tuple[str, str]]] = {
    "touch": ("dtr", "date reference time"),
    "truncate": ("sr", "size reference"),
    "install": ("gmotS", "group mode owner suffix target-directory"),
    "rsync": ("ef", "rsh filter exclude include exclude-from include-from files-from"),
    **dict.fromkeys(("cp", "mv", "ln"), ("tS", "suffix target-directory")),
}
"""Program → its short and long options that take a value."""


_STATES: Final[dict[str, FileState]] = {
    "touch": "touched",
    **dict.fromkeys(("rm", "unlink", "shred"), "removed"),
}


def written(
    stage: Invocation, operands: tuple[Operand, ...], state: FileState | None = None
) -> Plan:
    """Return the plan of a write of ``operands``."""
    return Plan(stage.program, "file_write", "written", "write", operands, stage.cwd, state=state)


def plan_writer(stage: Invocation) -> Plan:
    """Return the plan of ``touch``, ``rm``, ``cp`` and their relatives."""
    options = scan(stage.args, *WITH_VALUE.get(stage.program, ()))
    operands = operands_of(options.operands, stage)
    if stage.program in ALL_OPERANDS:
        is_new = stage.program in CREATORS and not options.has("a", "append")
        news = tuple(replace(operand, is_new=is_new) for operand in operands)
        plan = written(stage, news, _STATES.get(stage.program))
    else:
        made = destinations(operands, options.text("t", "target-directory"))
        plan = written(stage, made, "copied")
    if any(operand.kind != "file" for operand in plan.operands):
        reason = "the names of the written files are not known"
        return opaque(stage, reason, "file_write", plan.operands)
    return plan


def destinations(operands: tuple[Operand, ...], folder: str | None = None) -> tuple[Operand, ...]:
    """Return the files that moving or copying the first operands to the last one writes."""
    if folder is not None:
        return tuple(_inside(folder, operand) for operand in operands)
    if len(operands) < 2:
        return ()
    *sources, target = operands
    if target.kind == "file" and (target.written.endswith("/") or len(sources) > 1):
        return tuple(_inside(target.written, source) for source in sources)
    return (target,)


def _inside(folder: str, source: Operand) -> Operand:
    if source.kind != "file":
        return source
    return Operand(posixpath.join(folder, posixpath.basename(source.written.rstrip("/"))))


def plan_patch(stage: Invocation) -> Plan:
    """Return the plan of ``patch``, whose output or inline patch names the files."""
    if stage.script is not None:
        return written(stage, patched_files(stage.script))
    options = scan(stage.args, "pdiorFV", "strip input directory output")
    if options.operands:
        return written(stage, (operand_of(options.operands[0]),))
    plan = Plan(stage.program, "file_write", "written", "names", cwd=stage.cwd)
    return replace(plan, style="patching")


_ENVELOPE: Final = re.compile(
    r"^\*\*\* (?:(Add|Update|Delete) File|Move to): (\S[^\n]{0,1000})$", re.MULTILINE
)


def plan_apply_patch(stage: Invocation) -> Plan:
    """Return the plan of ``apply_patch``, whose patch is a here-document or an argument."""
    patch = stage.script or "\n".join(stage.texts())
    names = {match[2].strip(): match[1] == "Add" for match in _ENVELOPE.finditer(patch)}
    if not names:
        return opaque(stage, "the patch is not given", "file_write")
    return written(stage, tuple(Operand(name, is_new=is_new) for name, is_new in names.items()))


def patched_files(patch: str) -> tuple[Operand, ...]:
    """Return the files that the text of a unified diff changes."""
    names = re.findall(
        r"^(?:--- (/dev/null)\s{0,9}\n)?\+\+\+ (?:b/)?([^\t\n]+)", patch, flags=re.MULTILINE
    )
    return tuple(
        Operand(name.strip(), is_new=bool(nothing))
        for nothing, name in names
        if name.strip() != "/dev/null"
    )
