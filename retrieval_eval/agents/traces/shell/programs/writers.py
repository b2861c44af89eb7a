"""Programs that write, move or remove files."""

from __future__ import annotations

import posixpath
import re
from typing import Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.shell.plan import Operand, Plan, opaque, operand_of, operands_of
from retrieval_eval.agents.traces.shell.steps import Invocation, scan
from retrieval_eval.records import FileState

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
