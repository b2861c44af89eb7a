"""Files that printed lines name, certain by the grammar of a listing or only possible.

Each reader takes the plan and the lines and returns ``{written path: line numbers}``; a path has
no numbers when the lines give none. Lines that do not fit the grammar are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final
from urllib.parse import unquote

from retrieval_eval.agents.traces.results.base import integer
from retrieval_eval.agents.traces.results.mentions import looks_like_file, mentions
from retrieval_eval.agents.traces.shell.plan import Operand, Plan, slashed
from retrieval_eval.agents.traces.untrusted import dict_of
from retrieval_eval.io.files import decode
from retrieval_eval.paths import diff_path
from retrieval_eval.records import CUT_HERE, Doubt, FileState, RawTarget

Names = dict[str, list[int]]

_MAX_PATH = 1000
_LONGEST_WORDS = 100_000
_STRICT = re.compile(r"(?:[A-Za-z]:/)?[\w@.+~/()\[\]{},=#%&$!-]+")
_SIZES = re.compile(r"\s*(?:\d[\d.]*[KMGT]? +){1,2}(?=\S)")
_DRIVE = re.compile(r"[A-Za-z]:/")
_WITH_PATHS_FIRST = frozenset(["path", "match", "heading", "count"])
_NUMBERED = re.compile(r"(\d{1,9})[:-]")


def named(plan: Plan, lines: Iterable[str]) -> Names:
    """Return the files that ``lines`` name according to the plan's style."""
    if plan.style in _WITH_PATHS_FIRST:
        lines = map(slashed, lines)
    return _READERS[plan.style](plan, lines)


def _covers(plan: Plan, path: str) -> bool:
    if not path or len(path) > _MAX_PATH or path[0] in " \t":
        return False
    if plan.is_loose and (not _STRICT.fullmatch(path) or not looks_like_file(path)):
        return False
    return any(operand.covers(path) for operand in plan.operands)


def _is_anchored(plan: Plan) -> bool:
    return not plan.is_loose and all(
        o.kind in ("file", "pattern") and o.written not in (".", "*") for o in plan.operands
    )


def _paths(plan: Plan, lines: Iterable[str]) -> Names:
    found: Names = {}
    is_strict = not _is_anchored(plan)
    for line in lines:
        path = line.rstrip()
        for revision in plan.revisions:
            path = path.removeprefix(f"{revision}:")
        if ": " in path or (is_strict and not _STRICT.fullmatch(path)) or path.endswith("/"):
            continue
        if _covers(plan, path):
            found[path] = []
    return _without_folders(plan, found)


def _without_folders(plan: Plan, found: Names) -> Names:
    folders: set[str] = set()
    for path in found:
        folder, slash, _ = path.rpartition("/")
        while slash and folder not in folders:
            folders.add(folder)
            folder, slash, _ = folder.rpartition("/")
    roots = {o.written.rstrip("/") for o in plan.operands if not looks_like_file(o.written)}
    keep = plan.access == "matched" or plan.has_only_files
    return {
        path: numbers
        for path, numbers in found.items()
        if path not in folders and path not in roots and (keep or looks_like_file(path))
    }


_AT_LINE: Final = re.compile(r":(\d{1,9}):")
_AT_LINE_OR_END: Final = re.compile(r":(\d{1,9})(?::|$)")


def _matches(plan: Plan, lines: Iterable[str]) -> Names:
    found: Names = {}
    context: list[str] = []
    for line in lines:
        path, number = _split_match(plan, line[:4000])
        if path is None:
            context.append(line)
            continue
        found.setdefault(path, [])
        if number is not None:
            found[path].append(number)
    if found and plan.has_numbers:
        _add_context(found, context)
    return found


def _split_match(plan: Plan, line: str) -> tuple[str | None, int | None]:
    for revision in plan.revisions:
        line = line.removeprefix(f"{revision}:")
    if plan.has_numbers:
        for match in (_AT_LINE_OR_END if plan.width == 0 else _AT_LINE).finditer(line):
            path = line[: match.start()]
            if _covers(plan, path):
                return path, int(match[1])
            break
        return None, None
    binary = re.fullmatch(r"(?:Binary file |grep: )(.{1,1000}?)(?:: binary file)? matches", line)
    drive = 2 if _DRIVE.match(line) else 0
    path = binary[1] if binary else line[:drive] + line[drive:].partition(":")[0]
    # A line that ends in the colon is the heading of another command's listing.
    if (binary or ":" in line[:-1]) and _covers(plan, path):
        return path, None
    return None, None


def _add_context(found: Names, lines: list[str]) -> None:
    for line in lines:
        for i, match in enumerate(re.finditer(r"-(\d{1,9})-", line[:_MAX_PATH])):
            numbers = found.get(line[: match.start()])
            if numbers is not None:
                numbers.append(int(match[1]))
                break
            if i > 5:
                break


def _headings(plan: Plan, lines: Iterable[str]) -> Names:
    """Read blocks of lines behind blank ones, each below the name of its file."""
    found: Names = {}
    numbers: list[int] | None = None
    is_heading = True
    for line in lines:
        if line == CUT_HERE:
            numbers, is_heading = None, False
            continue
        is_bare = plan.has_numbers and _NUMBERED.match(line) is None
        if (is_heading or is_bare) and _covers(plan, line.rstrip()):
            numbers = found.setdefault(line.rstrip(), [])
        elif numbers is not None and plan.has_numbers:
            number = _NUMBERED.match(line)
            numbers += [int(number[1])] if number is not None else []
        is_heading = not line.strip()
    return found


def _records(plan: Plan, lines: Iterable[str]) -> Names:
    """Read ripgrep's JSON: one record a line, with the file and the number of a match."""
    found: Names = {}
    for line in lines:
        record = dict_of(decode(line)[0]) if line.startswith("{") else {}
        data = dict_of(record.get("data"))
        path = dict_of(data.get("path")).get("text")
        if record.get("type") not in ("match", "context") or not isinstance(path, str):
            continue
        path = slashed(path)
        if _covers(plan, path):
            number = integer(data.get("line_number"))
            found.setdefault(path, []).extend([number] if number else [])
    return found


def _counts(plan: Plan, lines: Iterable[str]) -> Names:
    found: Names = {}
    for line in lines:
        for revision in plan.revisions:
            line = line.removeprefix(f"{revision}:")
        path, _, count = line.rpartition(":")
        if count.strip().isdecimal() and int(count[:9]) > 0 and _covers(plan, path):
            found[path] = []
    return found


def _listing(plan: Plan, lines: Iterable[str]) -> Names:
    folders = [o.written for o in plan.operands if not looks_like_file(o.written)]
    folder = folders[0] if len(folders) == 1 and plan.operands[0].kind == "file" else None
    kept = list(lines)
    found = _listed_below(plan, kept, folder)
    if found or len(plan.operands) > 1 or plan.operands[0].kind != "file":
        return found
    # The name of a folder may look like that of a file.
    return _listed_below(plan, kept, plan.operands[0].written)


def _listed_below(plan: Plan, lines: Iterable[str], folder: str | None) -> Names:
    found: Names = {}
    for line in lines:
        if line == CUT_HERE:
            # The name of the folder may be among the lines that were left out.
            folder = None if plan.is_recursive or len(plan.operands) > 1 else folder
            continue
        header = _FOLDER.fullmatch(line) if line[-1:] == ":" else None
        if header and plan.operands and any(o.covers(header[1]) for o in plan.operands):
            folder = header[1]
            continue
        names, is_file = _entries(_SIZES.sub("", line, count=1) if plan.has_numbers else line)
        for name in names:
            path = _placed(plan, folder, name)
            if path is not None and (is_file or looks_like_file(path)):
                found[path] = []
    return found


def _placed(plan: Plan, folder: str | None, name: str) -> str | None:
    """Return the path of a listed name, or None where its folder is unknown."""
    if any(o.kind in ("pattern", "feed") and o.covers(name) for o in plan.operands):
        return name
    if folder is not None and "/" not in name:
        return name if folder == "." else f"{folder.rstrip('/')}/{name}"
    return name if any(o.written == name for o in plan.operands) else None


_FOLDER = re.compile(r"(\S.*):")
_TOTAL = re.compile(r"total [\d.]+[KMGT]?")
_COLUMNS = re.compile(r"\t| {2,}")
_LONG = re.compile(
    r"([-dlcbps])\S{9,11} +\d+ +\S+ +\S+ +\S+ +"
    r"(?:[A-Z][a-z]{2} +\d+ +[\d:]+|\d{4}-[\d-]+ +[\d:.]+(?: +[+-]\d{4})?) (.*)"
)


def _entries(line: str) -> tuple[list[str], bool]:
    """Return the names on a line of ``ls`` and whether they surely are files.

    A terminal shows names in columns with two blanks or a tab between them.
    """
    line = line[:4000]
    is_long = len(line) > 10 and line[0] in "-dlcbps" and line[1] in "-r" and line[2] in "-w"
    if is_long:
        match = _LONG.fullmatch(line)
        if match is not None and match[1] == "l":
            return [match[2].partition(" -> ")[0].strip()], False
        if match is None or match[1] != "-":
            return [], False
        return [match[2].strip()], True
    if line.startswith("total ") and _TOTAL.fullmatch(line):
        return [], False
    columns = _COLUMNS.split(line) if "\t" in line or "  " in line else [line]
    names = (name.strip().rstrip("*@") for name in columns)
    return [name for name in names if name and not name.endswith("/")], False


_BRANCH = re.compile(r"([│|\s\xa0]*)(?:├──|└──|\|--|`--) ")
_SIZE = re.compile(r"^\[[^\]]{0,100}\]\s+")


def _tree(plan: Plan, lines: Iterable[str]) -> Names:
    found: Names = {}
    stack: list[tuple[int, str]] = [(-1, plan.operands[0].written)]
    is_known = True
    for line in lines:
        is_known = is_known and line != CUT_HERE
        match = _BRANCH.match(line[:1000])
        if match is None:
            root = _SIZE.sub("", line.strip(), count=1)
            if any(o.written == root for o in plan.operands):
                stack, is_known = [(-1, root)], True
            continue
        # Behind a part that was left out only the entries of the uppermost folder are placed.
        if not is_known and not match[1]:
            del stack[1:]
            is_known = True
        if not is_known:
            continue
        while stack[-1][0] >= len(match[1]):
            stack.pop()
        name = _SIZE.sub("", line[match.end() :].strip(), count=1)
        stack.append((len(match[1]), name))
        if looks_like_file(name):
            base = "/".join(part.rstrip("/") for _, part in stack)
            found[base.removeprefix("./") if stack[0][1] == "." else base] = []
    return found


def _columns(plan: Plan, lines: Iterable[str]) -> Names:
    found: Names = {}
    for line in lines:
        columns = line[:4000].split()
        for path in (columns[-1], columns[0].rstrip(":")) if columns else ():
            if looks_like_file(path) and _covers(plan, path):
                found[path] = []
                break
    return found


def _headers(plan: Plan, lines: Iterable[str]) -> Names:
    found: Names = {}
    for line in lines:
        match = re.fullmatch(r"==> (.{1,1000}) <==", line)
        if match and _covers(plan, match[1]):
            found[match[1]] = []
    return found


_DIFF_SIDE = re.compile(r"(?:---|\+\+\+) (\"?[abciow]/[^\t]+)\t?$")
_DIFF_MOVE = re.compile(r"(?:rename|copy) (?:from|to) (\S[^\t]*)$")
_DIFF_NAMES = re.compile(r"diff --git (?P<old>\"?\S.*) (?P<new>\"?\S.*)$")
_SIDES = re.compile(r"^(\"?)[abciow]/")


def _changed(line: str) -> str | None:
    """Return the file that a header of a diff names, without the letter of its side."""
    side, moved = _DIFF_SIDE.match(line), _DIFF_MOVE.match(line)
    if side is not None:
        return diff_path(_SIDES.sub(r"\1a/", side[1]))
    if moved is not None:
        return diff_path(_with_side(moved[1]))
    if not line.startswith("diff --git "):
        return None
    names = line.removeprefix("diff --git ")
    half = len(names) // 2
    if len(names) % 2 and names[:half] == names[half + 1 :] and names[half] == " ":
        return diff_path(_with_side(names[:half]))
    match = _DIFF_NAMES.match(line)
    is_sided = match is not None and _SIDES.match(match["new"]) is not None
    return diff_path(_SIDES.sub(r"\1a/", match["new"])) if match and is_sided else None


def _with_side(name: str) -> str:
    """Return a name, quoted or not, with the letter of a side before it."""
    return f'"a/{name[1:]}' if name.startswith('"') else f"a/{name}"


_GRAPH = ("|", "*", "/", "\\")
_EDGES = re.compile(r"(?:[|*/\\] ?)+")


def _both_sides(path: str) -> tuple[str, ...]:
    """Return the old and the new name in ``src/{old => new}/a.py``; none for any other path."""
    old, arrow, new = path.partition(" => ")
    if not arrow:
        return ()
    before, brace, old_part = old.partition("{")
    new_part, closing, after = new.partition("}")
    if not brace or not closing:
        return old, new
    return tuple(f"{before}{part}{after}".replace("//", "/") for part in (old_part, new_part))


def _row(line: str) -> str | None:
    """Return the file of a row of a summary: `` src/a.py | 4 ++--``."""
    path, bar, count = line.rpartition(" | ")
    is_row = bar and line[:1] == " " and _CHANGES.match(count)
    return path.strip() or None if is_row else None


_CHANGES = re.compile(r" {0,20}(?:\d|Bin)")


def _diff(plan: Plan, lines: Iterable[str]) -> Names:
    found: Names = {}
    for line in lines:
        line = line[:4000]
        if line[:1] in _GRAPH:
            line = line[_EDGES.match(line).end() :]  # type: ignore[union-attr]
        path = _changed(line)
        if path is None and plan.has_numbers:
            # Without a summary these lines are content: a row of a table in the file's text.
            match = re.match(r"[AMDRCT]\d*\t(?:\S+\t)?(\S+)$", line) or re.match(
                r"(?:\d+|-)\t(?:\d+|-)\t(\S+)$", line
            )
            path = match[1] if match else _row(line)
            for name in _both_sides(path or ""):
                found[name] = []
            if path and " => " in path:
                continue
            path = diff_path(_with_side(path)) if path else None
        if path and not path.startswith("..."):
            found[path] = []
        elif plan.has_numbers and _STRICT.fullmatch(line) and looks_like_file(line):
            found[line] = []
    return found


_LONG_STATUS = re.compile(
    r"\t(?:new file|modified|deleted|renamed|copied|typechange|both modified|both added"
    r"|deleted by us|deleted by them|added by us|added by them|both deleted): +(\S.{0,1000})"
)
_SHORT_STATUS = re.compile(r"(?:[ MADRCUT][MADRCUT]|[MADRCUT] |\?\?|!!) (\S.{0,1000})")


def _status(plan: Plan, lines: Iterable[str]) -> Names:
    """Read what ``git status`` lists, in its long form and in its short one."""
    found: Names = {}
    is_untracked = False
    for line in lines:
        if line.startswith("Untracked files:"):
            is_untracked = True
        match = _LONG_STATUS.fullmatch(line) or _SHORT_STATUS.fullmatch(line)
        name = match[1] if match else line[1:] if is_untracked and line[:1] == "\t" else ""
        for path in name.strip().split(" -> "):
            path = (diff_path(_with_side(path)) if path.startswith('"') else path) or ""
            if path and not path.endswith("/") and _covers(plan, path):
                found[path] = []
    return found


def states_of(plan: Plan, lines: Iterable[str]) -> dict[str, FileState]:
    """Return which files a status or a diff says to be new, and which to have been there."""
    found: dict[str, FileState] = {}
    if plan.style == "status":
        for line in lines:
            state = _STATES_OF_LINES.match(line)
            for name in _status(plan, [line]) if state is not None and "->" not in line else ():
                found[name] = "created" if state is not None and state["new"] else "existed"
        return found
    path: str | None = None
    for line in lines if plan.style == "diff" else ():
        if line.startswith("diff --git "):
            path = _changed(line)
            if path is not None:
                found[path] = "existed"
        elif path is not None and line.startswith(("new file mode ", "copy from ", "rename from ")):
            found[path] = "created"
    return found


_STATES_OF_LINES = re.compile(
    r"\t?(?:(?P<new>A[ MD] |\?\? |new file: )|[ M][MD] |M  |D  |modified: |deleted: )"
)


def _words(plan: Plan, lines: Iterable[str]) -> Names:
    """Read lines of names as the shell prints them that fit a pattern, among known words."""
    found: Names = {}
    for line in lines:
        names = line[:_LONGEST_WORDS].split()
        rest = {name for name in names if not _covers(plan, name)}
        if rest <= set(plan.words):
            found.update((name, []) for name in names if name not in rest)
    return _without_folders(plan, found)


def _patched(_plan: Plan, lines: Iterable[str]) -> Names:
    matches = (re.match(r"patching file '?([^'\s]+)'?", line) for line in lines)
    return {match[1]: [] for match in matches if match}


_READERS: Final[dict[str, Callable[[Plan, Iterable[str]], Names]]] = {
    "path": _paths,
    "match": _matches,
    "heading": _headings,
    "records": _records,
    "count": _counts,
    "listing": _listing,
    "tree": _tree,
    "columns": _columns,
    "headers": _headers,
    "diff": _diff,
    "patching": _patched,
    "status": _status,
    "words": _words,
}


def numbers_of(lines: Iterable[str]) -> list[int]:
    """Return the numbers of lines like ``12:text`` and ``13-text``.

    Examples
    --------
    >>> numbers_of(["12:a", "13-b", "--", "c"])
    [12, 13]
    """
    matches = (_NUMBERED.match(line) for line in lines)
    return [int(match[1]) for match in matches if match]


# --------------------------------------------------------------------------------------------------
# What a remote code-search client prints: repositories, paths and numbered lines.

Found = dict[tuple[str, str], list[int]]
"""(repository, path) → line numbers."""

_REMOTE_HEADER = re.compile(r"# (\S{1,300}) [\u2013\u2014-] (\S.{0,999})")
_URL = re.compile(r"URL: https?://[^/\s]+/(\S{1,300}?)(?:@[^/\s]+)?/-/blob/([^?\s]{1,1000})")
_LINE = re.compile(r"(\d{1,9}):(?: |$)")


def remote_files(plan: Plan, lines: Iterable[str]) -> Found:
    """Return the files and line numbers that a client printed.

    Sections begin with ``# repository – path`` or ``URL: …``; a listing has one path a line,
    with a slash behind directories. Without a header the file comes from the command.
    """
    asked = plan.files[0].written if plan.files else None
    repository = plan.repository or ""
    if plan.access == "listed":
        return {(repository, path): [] for path in _remote_entries(asked, lines)}
    current = of_command = (
        (repository, asked) if asked is not None and plan.access == "opened" else None
    )
    found: Found = {}
    for line in lines:
        head = line[:1400]
        if line == CUT_HERE:
            current = of_command
            continue
        section = _REMOTE_HEADER.fullmatch(head) or _URL.match(head)
        if section:
            current = (section[1], unquote(section[2]).strip())
            found.setdefault(current, [])
            continue
        number = _LINE.match(head)
        if number and current is not None:
            found.setdefault(current, []).append(int(number[1]))
    return found


def _remote_entries(folder: str | None, lines: Iterable[str]) -> list[str]:
    base = (folder or "").strip("./")
    paths = []
    for line in lines:
        entry = line.strip()
        if not entry or entry.endswith("/") or " " in entry or not looks_like_file(entry):
            continue
        is_full = not base or entry.startswith(base + "/")
        paths.append(entry if is_full else f"{base}/{entry}")
    return paths


# --------------------------------------------------------------------------------------------------
# Files that a command may have shown: its operands, and the paths that its output names.

SAVED: Final = re.compile(r"/tool-results/[^/]+$")
"""A result that the harness saved: what it holds belongs to the call that was answered with it."""

MAX_NAMES: Final = 500
"""Different paths that are taken from one output in prose."""

_LONGEST_LINE: Final = 2000
_LONGEST_PATTERN: Final = 1000
_MOST_STARS: Final = 3
_WILDCARD: Final = re.compile(r"\[[^\]/]{1,100}\]|[*?]+")


def operand_targets(plan: Plan, doubt: Doubt) -> tuple[RawTarget, ...]:
    """Return what a plan may have touched, as far as its operands tell."""
    found: dict[RawTarget, None] = {}
    is_list = plan.evidence == "names" and plan.style != "headers"
    is_below = is_list or (plan.evidence == "opaque" and plan.is_open)
    for operand in plan.operands:
        for path, is_pattern in _named_paths(operand, is_below):
            target = _target(plan, path, is_pattern, operand.kind, doubt)
            if target is not None:
                found[target] = None
    return tuple(found)


def _named_paths(operand: Operand, is_below: bool) -> Iterator[tuple[str, bool]]:
    """Yield the paths that an operand may mean, and whether each is a pattern."""
    written = operand.written
    if operand.kind == "feed":
        for root in operand.roots:
            is_file = looks_like_file(root)
            yield (root, False) if is_file else (f"{root.rstrip('/')}/*", True)
        if not operand.roots:
            yield "*", True
        return
    if operand.kind == "pattern":
        written = _WILDCARD.sub("*", written)
    is_pattern = operand.kind != "file"
    if operand.kind == "unknown" and not written.strip("*/."):
        yield "*", True
    elif is_below and not looks_like_file(written) and not written.endswith("*"):
        yield f"{written.rstrip('/')}/*", True
    else:
        yield written, is_pattern


def unnamed(plan: Plan, doubt: Doubt) -> tuple[RawTarget, ...]:
    """Return the target that says that any file may have been shown."""
    return (RawTarget("*", plan.access, doubt=doubt, is_pattern=True),)


def _target(plan: Plan, path: str, is_pattern: bool, kind: str, doubt: Doubt) -> RawTarget | None:
    if not path or len(path) > _LONGEST_PATTERN or "\n" in path or SAVED.search(path):
        return None
    if is_pattern:
        path = _few_stars(path)
    repository = plan.repository or None
    # A word that begins with something unknown may be an absolute path.
    is_free = repository is not None or path == "*" or (kind == "unknown" and path[0] == "*")
    place = path if is_free else plan.path(_without_parents(path))
    return RawTarget(place, plan.access, repository, doubt=doubt, is_pattern=is_pattern)


def _few_stars(pattern: str) -> str:
    """Return a pattern that covers at least as much and has few stars."""
    parts = re.split(r"\*+", pattern)
    if len(parts) <= _MOST_STARS + 1:
        return "*".join(parts)
    return "*".join([*parts[:_MOST_STARS], parts[-1]])


def _without_parents(path: str) -> str:
    """Return a path in which no ``..`` stands behind a star: the star may be several folders."""
    head, star, tail = path.partition("*")
    if not star or ".." not in tail:
        return path
    return f"{head}*{tail.rpartition('..')[2]}"


def anywhere(target: RawTarget) -> RawTarget:
    """Return a relative target of a folder that is not known as a pattern below any."""
    path = target.path
    while path.startswith(("../", "./")):
        path = path.partition("/")[2]
    path = path if path.startswith("*") else f"*/{path}"
    return RawTarget(path, target.access, doubt="unplaced_path", is_pattern=True)


# --------------------------------------------------------------------------------------------------
# Paths in prose: what compilers, linters, tests and tracebacks print.


def mentioned(plan: Plan, lines: Iterable[str], doubt: Doubt) -> tuple[RawTarget, ...]:
    """Return the files that the output of a program names, each ``matched``."""
    found: dict[tuple[str, int | None], None] = {}
    for line in lines:
        for place in mentions(line[:_LONGEST_LINE]):
            found[place] = None
        if len(found) >= MAX_NAMES:
            break
    return tuple(
        RawTarget(
            plan.path(path),
            "matched",
            plan.repository or None,
            ((n, n),) if n else None,
            doubt=doubt,
        )
        for path, n in found
        if not SAVED.search(path)
    )
