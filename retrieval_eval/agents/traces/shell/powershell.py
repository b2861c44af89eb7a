"""Commands of PowerShell and of the Windows command prompt, put into the words of bash.

Only what reads, searches, lists and writes files is put into other words; everything else keeps
its own, and counts as a program that is not known.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from typing import Final

from retrieval_eval.agents.traces.shell.steps import words

_CMDLET: Final = re.compile(
    r"(?:^|[\n;|&({=])\s{0,20}"
    r"(?:Get-(?:Content|ChildItem|Item|Location)|Select-(?:String|Object)|Set-(?:Location|Content)"
    r"|Where-Object|ForEach-Object|Out-(?:File|String)|Write-(?:Output|Host)|Push-Location"
    r"|Pop-Location|Test-Path|Resolve-Path|Measure-Object|(?:Remove|Copy|Move|New)-Item"
    r"|Add-Content)\b",
    re.IGNORECASE,
)
_HINTS: Final = (
    "get-", "select-", "set-", "where-", "foreach-", "out-", "write-", "push-", "pop-", "test-",
    "resolve-", "measure-", "remove-", "copy-", "move-", "new-", "add-", "findstr",
)  # fmt: skip
"""Parts of such commands; a command without any of them, and without a backslash, is none."""

_PROMPT: Final = re.compile(
    r"\s{0,20}(?:(?:type|dir|more|findstr|cd /d|cat|gc|sls|gci)\s[^\n|;&]{0,200}[\w.]\\\w"
    r"|findstr\s{1,9}/[a-z])",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_NESTED: Final = re.compile(r"\s{0,20}(?:pwsh|powershell)(?:\.exe)?\s", re.IGNORECASE)
_TOKEN: Final = re.compile(
    r"""\s+|'(?:[^']|'')*'|"(?:[^"`]|`.)*"|\|\||&&|[|;\n&]|(?:[^\s'"|;&`]|`.)+|.""", re.DOTALL
)
_ENTRY: Final = re.compile(
    r"(?P<mode>[dl-][a-z-]{4,6}) +\S+ +\d\d?[:.]\d\d(?: ?[AP]M)? +"
    r"(?:(?P<size>[\d,.]+) +)?(?P<name>\S.*)"
)
_FOLDER: Final = re.compile(r"\s{0,8}Directory: (\S.{0,1000})")
_WITH_VALUE: Final = words(
    "path literalpath totalcount head first tail last filter include exclude pattern encoding "
    "depth context value destination skip property expandproperty delimiter filepath name itemtype"
)
_SWITCHES: Final = words(
    "recurse r raw force file directory name simplematch casesensitive list quiet notmatch "
    "allmatches wait append nonewline hidden unique"
)
_ENDS: Final = ("||", "&&", ";", "\n", "&")
_LISTING: Final = "get-childitem"
_ALIASES: Final = {
    **dict.fromkeys(words("get-content gc cat type"), "get-content"),
    **dict.fromkeys(words("select-string sls"), "select-string"),
    "findstr": "findstr",
    **dict.fromkeys(words("get-childitem gci ls dir"), "get-childitem"),
    **dict.fromkeys(words("set-location sl cd chdir"), "cd"),
    **dict.fromkeys(words("push-location pushd"), "pushd"),
    **dict.fromkeys(words("pop-location popd"), "popd"),
    **dict.fromkeys(words("get-location gl pwd"), "pwd"),
    **dict.fromkeys(words("select-object select"), "select-object"),
    **dict.fromkeys(words("out-string format-table ft format-list fl"), "cat"),
    **dict.fromkeys(words("write-output write-host echo"), "echo"),
    **dict.fromkeys(words("measure-object measure"), "wc"),
    **dict.fromkeys(words("set-content sc add-content ac out-file new-item ni"), "touch"),
    **dict.fromkeys(words("remove-item ri del erase"), "rm"),
    **dict.fromkeys(words("copy-item copy cpi"), "cp"),
    **dict.fromkeys(words("move-item move mi rename-item ren"), "mv"),
    **dict.fromkeys(words("test-path resolve-path get-item gi"), "test"),
}


def is_powershell(command: str) -> bool:
    r"""Return whether a command is written for PowerShell or the command prompt of Windows.

    Examples
    --------
    >>> is_powershell(r"Get-Content src\a.py"), is_powershell("cat src/a.py")
    (True, False)
    """
    lower = command[:20_000].lower()
    if "\\" not in lower and not any(hint in lower for hint in _HINTS):
        return False
    head = _QUOTED.sub("''", command[:20_000])
    if "<<" in head or _NESTED.match(head):
        return False
    return _CMDLET.search(head) is not None or _PROMPT.match(head) is not None


def as_bash(command: str) -> str:
    r"""Return a command of PowerShell in the words of bash.

    Examples
    --------
    >>> as_bash(r"Get-Content -Path src\a.py -TotalCount 20 | Select-String foo")
    'head -n 20 src/a.py | grep -e foo'
    """
    script: list[str] = []
    pipeline: list[list[str]] = [[]]
    is_glued = False
    for match in _TOKEN.finditer(command):
        part = match[0]
        mark = "\n" if part.isspace() and "\n" in part else part
        if mark == "|":
            pipeline.append([])
            is_glued = False
        elif mark in _ENDS:
            script += [_pipeline(pipeline), ";" if mark == "&" else mark]
            pipeline, is_glued = [[]], False
        elif part.isspace():
            is_glued = False
        else:
            text = _unquoted(part)
            if is_glued:
                pipeline[-1][-1] += text
            else:
                pipeline[-1].append(text)
            is_glued = True
    return " ".join([*script, _pipeline(pipeline)]).strip()


def _pipeline(stages: list[list[str]]) -> str:
    """Return a pipeline; a search of the files that a listing names is a search of its folder."""
    found: list[str] = []
    below: str | None = None
    for tokens in filter(None, stages):
        program, options, operands = _parsed(tokens)
        if program == "select-string" and below is not None:
            found[-1] = f"{_search(program, options, operands, is_first=False)} -rHn {below}"
            below = None
            continue
        below = " ".join(_paths(options, operands[:1])) or "." if program == _LISTING else None
        if program is None:
            words_of = [_slashed(tokens[0]), *(_word(token) for token in tokens[1:])]
            found.append(" ".join(words_of))
        else:
            found.append(_WRITERS.get(program, _plain)(program, options, operands, not found))
        if tokens[0].startswith("("):
            found.append("awk 1")
    return " | ".join(found)


def _unquoted(token: str) -> str:
    if len(token) > 1 and token[0] == token[-1] == "'":
        return token[1:-1].replace("''", "'")
    if len(token) > 1 and token[0] == token[-1] == '"':
        token = token[1:-1]
    return re.sub(r"`(.)", r"\1", token, flags=re.DOTALL)


def _parsed(tokens: list[str]) -> tuple[str | None, dict[str, str], list[str]]:
    """Return the program, if it is known, its options and its operands."""
    if tokens[0].startswith("("):
        tokens = [token.partition(")")[0] for token in (tokens[0][1:], *tokens[1:])]
    name = tokens[0].lower()
    program = _ALIASES.get(name.removesuffix(".exe"))
    if program is None:
        return None, {}, []
    is_prompt = name in ("findstr", "dir", "type")
    options, operands = _arguments([t for t in tokens[1:] if t], is_prompt=is_prompt)
    return program, options, operands


def _arguments(tokens: list[str], *, is_prompt: bool = False) -> tuple[dict[str, str], list[str]]:
    options: dict[str, str] = {}
    operands: list[str] = []
    i = 0
    while i < len(tokens):
        token = tokens[i]
        i += 1
        name, colon, _ = token[1:].lower().partition(":")
        if token.startswith("-") and name[:1].isalpha():
            if colon:
                options[name] = token.partition(":")[2]
            elif name in _SWITCHES and (name != "name" or i >= len(tokens)):
                options[name] = ""
            elif name in _WITH_VALUE and i < len(tokens):
                options[name] = tokens[i]
                i += 1
            else:
                options[name] = ""
        elif is_prompt and re.fullmatch(r"(?:/[a-z])+(?::.*)?", token, re.IGNORECASE):
            letters, colon, value = token.partition(":")
            options.update(dict.fromkeys((f"/{c}" for c in letters.lower() if c != "/"), value))
        else:
            operands += [part for part in token.split(",") if part]
    return options, operands


def _paths(options: dict[str, str], operands: list[str]) -> list[str]:
    named = options.get("path", options.get("literalpath"))
    found = [part.strip() for part in named.split(",")] if named is not None else operands
    return [_word(path) for path in found]


def _word(text: str) -> str:
    """Return a word of bash; what PowerShell would expand stays unknown or a pattern."""
    text = _slashed(text)
    if "$" in text or "(" in text:
        return '"' + re.sub(r"\$\(?[\w:.{}]*\)?", "$UNKNOWN", text).replace('"', "") + '"'
    return text if re.fullmatch(r"[\w./:*?@+=,~-]+", text) else shlex.quote(text)


def _slashed(text: str) -> str:
    return text.replace("\\", "/")


def _read(_program: str, options: dict[str, str], operands: list[str], _is_first: bool) -> str:
    paths = " ".join(_paths(options, operands))
    for names, program in ((("totalcount", "head", "first"), "head"), (("tail", "last"), "tail")):
        count = next((options[name] for name in names if options.get(name, "").isdecimal()), None)
        if count is not None:
            return f"{program} -n {count} {paths}"
    return f"cat {paths}"


def _search(_program: str, options: dict[str, str], operands: list[str], is_first: bool) -> str:
    pattern = options.get("pattern")
    if pattern is None and operands:
        pattern, operands = operands[0], operands[1:]
    paths = " ".join(_paths(options, operands))
    flags = "-F " if "simplematch" in options else ""
    search = f"{flags}-e {shlex.quote(pattern or '')}"
    if "quiet" in options:
        return f"grep -q {search} {paths}"
    if not is_first and not paths:
        return f"grep {search}"
    return f"grep -Hn {search} {paths}"


def _find_text(_program: str, options: dict[str, str], operands: list[str], is_first: bool) -> str:
    """Return ``findstr``, whose words are alternatives, as a search of files or below a folder."""
    pattern = options.get("/c") or "|".join(operands[:1]).replace(" ", "|")
    paths = _paths({}, operands if options.get("/c") else operands[1:])
    search = f"grep {'-n' if '/n' in options else ''} -E -e {shlex.quote(pattern)}"
    if not paths:
        return search if not is_first else f"{search} -"
    if "/m" in options:
        search += " -l"
    if "/s" in options:
        folders = dict.fromkeys(path.rpartition("/")[0] or "." for path in paths)
        return f"{search} -rH {' '.join(folders)}"
    return f"{search} {' '.join(paths)}"


def _list(_program: str, options: dict[str, str], operands: list[str], _is_first: bool) -> str:
    paths = _paths(options, operands[:1])
    if "name" in options and "recurse" not in options:
        return f"ls {' '.join(paths)}"
    return f"find {' '.join(paths) or '.'}"


def _select(_program: str, options: dict[str, str], _operands: list[str], _is_first: bool) -> str:
    if "skip" in options:
        return "awk 1"
    for name, program in (("first", "head"), ("last", "tail")):
        if options.get(name, "").isdecimal():
            return f"{program} -n {options[name]}"
    return "cat" if "expandproperty" in options or not options else "awk 1"


def _write(program: str, options: dict[str, str], operands: list[str], _is_first: bool) -> str:
    paths = _paths(options, operands[:1])
    if not paths and "filepath" in options:
        paths = [_word(options["filepath"])]
    return f"{program} {' '.join(paths)}"


def _plain(program: str, options: dict[str, str], operands: list[str], _is_first: bool) -> str:
    named = [options[name] for name in ("path", "literalpath", "destination") if name in options]
    return " ".join([program, *(_word(text) for text in [*named, *operands])])


_WRITERS: Final[dict[str, Callable[[str, dict[str, str], list[str], bool], str]]] = {
    "get-content": _read,
    "select-string": _search,
    "findstr": _find_text,
    "get-childitem": _list,
    "select-object": _select,
    "touch": _write,
}


def as_bash_prints(output: str, script: str = "") -> str:
    r"""Return the output of PowerShell with slashes, and tables of files as paths.

    Where ``script``, in the words of bash, lists one relative folder, the paths are relative too.

    Examples
    --------
    >>> as_bash_prints(
    ...     "    Directory: C:\\w\n\nMode LastWriteTime Length Name\n---- ----\n"
    ...     "-a----  1/1/2024  12:00 PM   12 a.py\nd-----  1/1/2024  12:00 PM  src"
    ... )
    'C:/w/a.py'
    """
    folder: str | None = None
    roots = re.findall(r"(?:^|[|;\n] )find ([^\s|;]+)", script)
    root = roots[0] if len(roots) == 1 and not re.match(r"/|[A-Za-z]:", roots[0]) else None
    top: str | None = None
    lines: list[str] = []
    for line in output.replace("\r\n", "\n").split("\n"):
        found = _FOLDER.fullmatch(line[:1100].rstrip())
        entry = _ENTRY.match(line[:1100]) if folder is not None else None
        if found is not None:
            folder = _slashed(found[1]).rstrip("/")
            top = folder if top is None else top
            if root is not None and folder.startswith(top):
                folder = f"{root.rstrip('/')}{folder[len(top) :]}"
        elif entry is not None:
            if entry["mode"][0] != "d":
                lines.append(f"{folder}/{entry['name'].rstrip()}")
        elif folder is None or (line.strip() and not re.match(r"(?:Mode|----)\s", line)):
            lines.append(_slashed(line))
    return "\n".join(lines)
