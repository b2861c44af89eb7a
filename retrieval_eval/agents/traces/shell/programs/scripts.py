"""Inline Python, Node, Ruby and Perl: files that the code opens by a literal name."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from retrieval_eval.agents.traces.results.mentions import looks_like_file, path_texts
from retrieval_eval.agents.traces.shell.plan import (
    Operand,
    Plan,
    named_paths,
    opaque,
    operands_of,
    reader,
)
from retrieval_eval.agents.traces.shell.programs.readers import written
from retrieval_eval.agents.traces.shell.steps import Arg, Invocation, words

INTERPRETERS: Final = re.compile(
    r"(?:python(?:\d(?:\.\d+)?)?|pypy3?|node|nodejs|ruby|perl|deno|bun)"
)

_IN_PLACE = re.compile(r"-(?!r)[a-z0-9]*i[a-z]*(?:\.\w*)?")
_CODE_FLAG = {
    "perl": r"-[a-zA-Z0-9]*[eE]",
    "node": r"(?:-e|-p|--eval|--print)",
    "ruby": r"-[a-z]*e",
}
_NAME = (
    r"""(?:[rbu]{0,2}(?P<quote>['"`])(?P<literal>[^'"`\n]{1,1000})(?P=quote)"""
    r"""|(?P<name>[A-Za-z_]\w*))"""
)
_OPEN = re.compile(
    r"""\b(?:open|io\.open|codecs\.open|File\.(?:read|open|readlines))\s*\(\s*"""
    + _NAME
    + r"""\s*(?P<rest>,\s*(?:mode\s*=\s*)?['"](?P<mode>[rwaxbt+]{1,4})['"]|[,)])"""
)
_PATH = re.compile(
    r"""\bPath\s*\(\s*"""
    + _NAME
    + r"""\s*\)\s*\.\s*(?P<method>read_text|read_bytes|open|write_text|write_bytes)\b"""
)
_METHOD = re.compile(
    r"""\b(?P<name>[A-Za-z_]\w*)\s*\.\s*(?P<method>read_text|read_bytes|open|write_text|write_bytes)\s*\("""
)
_NODE = re.compile(
    r"""\b(?P<method>readFileSync|readFile|writeFileSync|appendFileSync|require)\s*\(\s*""" + _NAME
)
_ASSIGNED = re.compile(
    r"""^[ \t]*([A-Za-z_]\w*)\s*=\s*[rbu]{0,2}(['"])([^'"\n]{1,1000})\2[ \t]*$""", re.MULTILINE
)
_ASSIGNED_PATH = re.compile(
    r"""^[ \t]*([A-Za-z_]\w*)\s*=\s*(?:pathlib\.)?Path\s*"""
    r"""\(\s*r?(['"])([^'"\n]{1,300})\2\s*\)[ \t]*(?:;|$)""",
    re.MULTILINE,
)
_ACCESS = re.compile(
    r"\bopen\s*\(|\bPath\s*\(|read_text|readFile|os\.walk|os\.listdir|glob\b|subprocess|os\.system"
    r"|popen|writeFile|read_csv|File\.|import_module|rglob|iterdir|linecache|fileinput|getsource"
)
_TEXT = re.compile(r"""(['"])([^'"\\\n]{1,300})\1""")
_WALKS = re.compile(r"\b(?:walk|listdir|scandir|i?glob|rglob|iterdir|subprocess|system|popen)\b")
_WALKED = re.compile(
    r"""\b(?:walk|listdir|scandir|i?glob|rglob|Path)\s{0,9}\(\s{0,9}r?(['"])([^'"\\\n]{1,300})\1"""
)
_STREAMS = re.compile(r"open\s*\(\s*0\b|sys\.stdin|stdin")


def plan_script(stage: Invocation) -> list[Plan]:
    """Return the plans of an interpreter: reads and writes of names in its code."""
    texts = stage.texts()
    if texts[:2] == ["-m", "json.tool"]:
        return [reader(stage, operands_of(list(stage.args[2:3]), stage), None)]
    code, files = _code(stage)
    if code is None:
        if files:
            return [opaque(stage, "runs a program from a file", operands=named_paths(files[1:]))]
        return [Plan(stage.program, evidence="mentions", cwd=stage.cwd)]
    if stage.program in ("perl", "ruby") and any(_IN_PLACE.fullmatch(t) for t in texts):
        return [written(stage, operands_of(files, stage))]
    if stage.program == "perl" and files:
        return [replace(reader(stage, operands_of(files, stage), None), is_selective=True)]
    return _accesses(stage, code)


_SHELLS: Final = words("bash sh zsh dash ksh source .")
_SHELL_WORD: Final = re.compile(r"[^\s'\"`;|&<>(){}$=]{2,300}")


def script_of(stage: Invocation) -> str | None:
    """Return the path of the script that a command runs, or the name of one run by itself."""
    program = stage.program
    if program in _SHELLS or INTERPRETERS.fullmatch(program):
        for arg in stage.args:
            if arg.raw in ("-c", "-e", "-m", "-") or arg.text is None:
                return None
            if not arg.raw.startswith("-"):
                return stage.resolve(arg.text)
        return None
    return program if "." in program else None


def plan_source(stage: Invocation, code: str) -> Plan:
    """Return the plan of a script that the agent wrote: what it prints is not known.

    It may have shown the files that its text names; one whose text the trace does not hold, any.
    """
    reason = "runs a script that the agent wrote"
    if not code:
        return opaque(stage, reason, operands=(Operand("*", "pattern"),))
    if stage.program in _SHELLS or stage.program.endswith("sh") or code.startswith("#!/bin/"):
        named = [m[0] for m in _SHELL_WORD.finditer(code)]
        patterns = [word for word in named if "*" in word and ("/" in word or "." in word)]
    else:
        is_reading = _ACCESS.search(code) is not None
        named = [word for m in _TEXT.finditer(code) for word in m[2].split()] if is_reading else []
        # What has several dots and no folder is the name of a module.
        named = [word for word in named if "/" in word or word.count(".") == 1]
        walked = [match[2] for match in _WALKED.finditer(code)]
        patterns = [t if "*" in t else f"{t}/*" for t in walked if not looks_like_file(t)]
    operands = [Operand(path) for path in path_texts(named) if "*" not in path]
    operands += [Operand(pattern, "pattern") for pattern in patterns]
    own = script_of(stage)
    operands += [o for o in named_paths(stage.args) if stage.resolve(o.written) != own]
    return opaque(stage, reason, operands=tuple(dict.fromkeys(operands)))


def _code(stage: Invocation) -> tuple[str | None, list[Arg]]:
    args = list(stage.args)
    family = "perl" if stage.program == "perl" else stage.program.rstrip("0123456789.")
    flag = _CODE_FLAG.get({"nodejs": "node"}.get(family, family), r"-[a-zA-Z]*c")
    for i, arg in enumerate(args):
        if re.fullmatch(flag, arg.raw) and i + 1 < len(args):
            return args[i + 1].raw, args[i + 2 :]
        if arg.raw in ("-m", "--version", "-V", "--test"):
            return None, []
        if arg.raw == "-":
            break
        if not arg.raw.startswith("-"):
            return None, args[i:]
    return stage.script, []


def _accesses(stage: Invocation, code: str) -> list[Plan]:
    code = code[:200_000]
    reads: dict[str, None] = {}
    writes: dict[str, bool] = {}
    n_resolved = 0
    is_elsewhere = "chdir" in code
    paths = _assigned(_ASSIGNED_PATH, code) if "Path" in code else {}
    named = (match for match in _METHOD.finditer(code) if match["name"] in paths) if paths else ()
    uses = (
        *(_OPEN.finditer(code) if "open" in code or "File." in code else ()),
        *(_PATH.finditer(code) if "Path" in code else ()),
        *(_NODE.finditer(code) if "File" in code or "require" in code else ()),
        *named,
    )
    constants = _assigned(_ASSIGNED, code) if uses else {}
    for match in uses:
        groups = match.groupdict()
        values = constants.get(groups["name"] or "", []) or paths.get(groups["name"] or "", [])
        name = groups.get("literal") or (values[0] if len(values) == 1 else None)
        if name is None or "{" in name or "$" in name or not _is_file_use(match, name):
            continue
        if is_elsewhere and not name.startswith("/"):
            continue
        n_resolved += 1
        mode = groups.get("mode") or ""
        is_write = any(c in mode for c in "wax+") or (groups.get("method") or "").startswith(
            ("write", "append")
        )
        if is_write:
            is_added = "append" in (groups.get("method") or "") or any(c in mode for c in "ar")
            writes[name] = writes.get(name, True) and not is_added
        else:
            reads[name] = None
    plans = []
    if writes:
        operands = tuple(
            Operand(name, is_new=is_new and name not in reads) for name, is_new in writes.items()
        )
        plans.append(Plan(stage.program, "file_write", "written", "write", operands, stage.cwd))
    if reads and _may_show(stage, code):
        plan = reader(stage, tuple(Operand(name) for name in reads), None)
        plans.append(replace(plan, is_selective=True, is_joint=True))
    elif reads:
        reason = "the code prints something else than what it reads"
        plans.append(opaque(stage, reason, operands=tuple(Operand(name) for name in reads)))
    n_accesses = len(_ACCESS.findall(_STREAMS.sub("", code)))
    if n_accesses > n_resolved + len(re.findall(r"\bPath\s*\(", code)) or is_elsewhere:
        reason = "the code opens files whose names are not literal"
        plans.append(opaque(stage, reason, operands=_possible(code)))
    return plans or [Plan(stage.program, evidence="mentions", cwd=stage.cwd)]


_PRINTED: Final = re.compile(
    r"\b(?:p?print(?:ln|f)?|console\.\w{1,10}|puts|say|stdout\.(?:buffer\.)?write(?:lines)?"
    r"|json\.dump|copyfileobj|os\.write)\b[ \t]{0,9}"
    r"([^\n;]{0,1000})"
)
_LITERAL: Final = re.compile(
    r"""(?<![fF])[rbu]{0,2}(?:'[^'\\\n]{0,1000}'|"[^"\\\n]{0,1000}"|`[^`$]{0,1000}`)"""
)
_MEASURED: Final = re.compile(
    r"\b(?:len|hash|type|bool)\s{0,9}\((?:[^()\n]|\([^()\n]{0,300}\)){0,300}\)"
    r"|[\w.]{1,200}\.(?:count|startswith|endswith)\([^()\n]{0,300}\)|[\w.]{1,200}(?:\([^()\n]{0,300}\)[\w.]{0,200}){0,5}"
    r"\.(?:length|size)\b"
    r"|\bhashlib\.\w{1,20}\((?:[^()\n]|\([^()\n]{0,300}\)){0,300}\)\.\w{1,20}\(\)"
    r"|\b(?:not\s{1,9})?in\s{1,9}[\w.]{1,200}(?:\([^()\n]{0,300}\)[\w.]{0,200}){0,5}"
)
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_OPTIONS: Final = frozenset(
    ["end", "sep", "flush", "file", "sys", "stderr", "True", "False", "not"]
)
_SHOWS_VALUE: Final = frozenset(["-p", "--print", "-pe"])


def _may_show(stage: Invocation, code: str) -> bool:
    """Return whether code may print what it reads, not only fixed texts and measures of it."""
    if not _SHOWS_VALUE.isdisjoint(stage.texts()) or stage.program == "perl":
        return True
    printed = _PRINTED.findall(code)
    for text in printed:
        rest = _MEASURED.sub(" ", _LITERAL.sub(" ", text))
        if text.strip("( \t") == "" or not _OPTIONS.issuperset(_WORD.findall(rest)):
            return True
    return False


def _assigned(pattern: re.Pattern[str], code: str) -> dict[str, list[str]]:
    """Return the texts, or paths, that the variables of a code are assigned."""
    found: dict[str, list[str]] = {}
    for match in pattern.finditer(code):
        found.setdefault(match[1], []).append(match[3])
    return found


def _possible(code: str) -> tuple[Operand, ...]:
    """Return what code may open: the paths among its texts, what lies below the folders it walks.

    A walk through a folder that is not literal, or no literal path at all, may be any file.
    """
    walked = [match[2] for match in _WALKED.finditer(code)]
    folders = [text for text in walked if "*" in text or not looks_like_file(text)]
    files = [path for m in _TEXT.finditer(code) for path in path_texts([m[2]])]
    is_any = not files if not _WALKS.search(code) else not folders
    found = [Operand(path) for path in files if path not in folders]
    found += [Operand(text if "*" in text else f"{text}/*", "pattern") for text in folders]
    return tuple(dict.fromkeys([*found, *([Operand("*", "pattern")] if is_any else [])]))


def _is_file_use(match: re.Match[str], name: str) -> bool:
    if match.groupdict().get("method") != "require":
        return True
    return name.startswith((".", "/")) and "." in name.rsplit("/", 1)[-1]
