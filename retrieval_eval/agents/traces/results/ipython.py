"""Files that a cell of Python showed: certain only where a literal path is opened and printed.

The code is parsed and never run. What it opens in any other way, or shows only under a condition,
is possible where the cell printed something.
"""

from __future__ import annotations

import ast
import posixpath
import re
import warnings
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from retrieval_eval.agents.traces.results.base import (
    NOTHING,
    Found,
    Seen,
    distinct,
    is_file_path,
    joined,
    text_argument,
)
from retrieval_eval.agents.traces.results.local_files import editor_category, read_editor
from retrieval_eval.records import RawTarget

_LONGEST: Final = 20_000
_TRACEBACK: Final = "Traceback (most recent call last)"
_STARTS_WITH_ERROR: Final = re.compile(r"\s*(?:-{20,}\s|Traceback \(|Cell In ?\[)")
_PATH_TEXT: Final = re.compile(r"[\w@+~.-]{0,200}/[\w@+~./-]{1,1000}|[\w@+-]{1,200}\.\w{1,8}")
_WINDOW: Final = re.compile(r"^\[File: ([^\n]{1,4096}) \(\d{1,9} lines total\)\]", re.MULTILINE)
_WINDOWS: Final = frozenset({"open_file", "goto_line", "scroll_up", "scroll_down"})
_EDITORS: Final = frozenset({"file_editor"})
_PRINTS: Final = frozenset({"print", "display", "pprint"})
_READS: Final = frozenset({"read", "readlines", "readline", "read_text", "read_bytes"})
_SAME: Final = frozenset(
    {"strip", "rstrip", "lstrip", "split", "splitlines", "decode", "expandtabs", "replace"}
)
_WRAPS: Final = frozenset({"str", "repr", "list", "enumerate", "iter", "reversed", "tuple"})
_RUNS: Final = frozenset({"system", "popen", "run", "check_output", "getoutput", "Popen", "call"})


def read_ipython(seen: Seen) -> Found:
    """Return the files whose content a cell printed, and those that it may have printed.

    Examples
    --------
    >>> code = {"code": "print(open('src/a.py').read())"}
    >>> read_ipython(Seen(code, "x = 1", None, "other", "/w")).targets[0].path
    '/w/src/a.py'
    """
    code = text_argument(seen.arguments, ("code",))
    if not seen.text.strip():
        return NOTHING
    if code is None:
        return Found(is_opaque=True)
    if _STARTS_WITH_ERROR.match(seen.text):
        return Found(is_error=True)
    tree = _parsed(code)
    if tree is None:
        return Found(tuple(_mentioned(_PATH_TEXT.findall(code), seen)), is_opaque=True)
    editor = _editor_arguments(tree)
    if editor is not None:
        return read_editor(replace(seen, arguments=editor, category=editor_category(editor)))
    window = _WINDOW.search(seen.text)
    if window is not None and _called(tree) & _WINDOWS:
        target = RawTarget(joined(seen.cwd, window[1]), "opened")
        return Found((target,), category="file_read")
    return _found(tree, seen)


def _parsed(code: str) -> ast.Module | None:
    if len(code) > _LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _found(tree: ast.Module, seen: Seen) -> Found:
    cell = _Cell()
    try:
        cell.walk(tree.body, is_certain=True)
        cell.show_last(tree.body)
        texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
    except RecursionError:
        return Found(is_opaque=True)
    is_sure = _TRACEBACK not in seen.text
    certain = [s for s in cell.shown if s.is_plain and (not s.is_cut or cell.n_prints == 1)]
    sure = {path: not s.is_cut for s in certain for path in s.paths} if is_sure else {}
    targets = [
        RawTarget(joined(seen.cwd, path), "opened", is_whole=is_whole)
        for path, is_whole in sure.items()
    ]
    named = [path for s in cell.shown for path in s.paths]
    named += [text for text in texts if isinstance(text, str) and _PATH_TEXT.fullmatch(text)]
    further = [path for path in named if path not in sure and path not in cell.written]
    shown = {target.path for target in targets}
    targets += (target for target in _mentioned(further, seen) if target.path not in shown)
    is_opaque = cell.is_opaque or bool(_called(tree) & _RUNS)
    return Found(distinct(targets), is_opaque=is_opaque, category="file_read" if sure else None)


def _mentioned(paths: Iterable[str], seen: Seen) -> Iterator[RawTarget]:
    for path in dict.fromkeys(paths):
        if is_file_path(path):
            yield RawTarget(joined(seen.cwd, path), "opened", doubt="opaque_call")


def _called(tree: ast.AST) -> set[str]:
    """Return the names, without what stands before a dot, of all that is called."""
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {name for function in calls if (name := _name(function)) is not None}


def _name(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


def _editor_arguments(tree: ast.Module) -> dict[str, object] | None:
    """Return the arguments of a cell that is one call of the editor, written out."""
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.Expr):
        return None
    call = tree.body[0].value
    if isinstance(call, ast.Call) and _name(call.func) in _PRINTS and len(call.args) == 1:
        call = call.args[0]
    if not isinstance(call, ast.Call) or _name(call.func) not in _EDITORS or call.args:
        return None
    try:
        found: dict[str, object] = {}
        for keyword in call.keywords:
            value = ast.literal_eval(keyword.value)
            found.update(value if keyword.arg is None else {keyword.arg: value})
    except (ValueError, TypeError, RecursionError):
        return None
    return found if all(isinstance(key, str) for key in found) else None


class _Value(Struct, frozen=True, gc=False):
    """What an expression holds: a path, an opened file, or content of files.

    ``is_plain``: nothing but the content; ``is_cut``: possibly a part of it only.
    """

    kind: Literal["path", "handle", "content"]
    paths: tuple[str, ...]
    is_plain: bool = True
    is_cut: bool = False


class _Cell(Struct):
    values: dict[str, _Value] = field(default_factory=dict)
    shown: list[_Value] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    n_prints: int = 0
    is_opaque: bool = False

    def walk(self, body: Iterable[ast.stmt], *, is_certain: bool) -> None:
        for node in body:
            self._statement(node, is_certain)

    def show_last(self, body: list[ast.stmt]) -> None:
        """Note the value of the last expression, which a notebook displays."""
        if body and isinstance(body[-1], ast.Expr) and not _is_print(body[-1].value):
            value = self._value(body[-1].value)
            if value is not None and value.kind == "content":
                self.n_prints += 1
                self.shown.append(value)

    def _statement(self, node: ast.stmt, is_certain: bool) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            self._bind(node.targets[0], self._value(node.value))
        elif isinstance(node, ast.Expr):
            self._expression(node.value, is_certain)
        elif isinstance(node, ast.With):
            for item in node.items:
                value = self._value(item.context_expr)
                if item.optional_vars is not None:
                    self._bind(item.optional_vars, value)
            self.walk(node.body, is_certain=is_certain)
        elif isinstance(node, ast.For):
            value = self._value(node.iter)
            inside = None if value is None else replace(value, kind="content")
            self._bind(node.target, inside)
            is_own = value is not None and value.kind != "path" and value.is_plain
            self.walk(node.body, is_certain=is_certain and is_own)
        elif isinstance(node, ast.If | ast.While | ast.Try):
            self.walk(node.body, is_certain=False)
            self.walk(node.orelse, is_certain=False)
            for handler in node.handlers if isinstance(node, ast.Try) else ():
                self.walk(handler.body, is_certain=False)
        elif isinstance(node, ast.FunctionDef):
            self.walk(node.body, is_certain=False)

    def _bind(self, target: ast.expr, value: _Value | None) -> None:
        names = target.elts if isinstance(target, ast.Tuple) else [target]
        for name in names:
            if not isinstance(name, ast.Name):
                continue
            if value is None:
                self.values.pop(name.id, None)
            else:
                self.values[name.id] = value

    def _expression(self, node: ast.expr, is_certain: bool) -> None:
        if not _is_print(node) or not isinstance(node, ast.Call):
            self._value(node)
            return
        self.n_prints += 1
        for argument in node.args:
            value = self._value(argument.value if isinstance(argument, ast.Starred) else argument)
            if value is not None and value.kind == "content":
                self.shown.append(replace(value, is_plain=value.is_plain and is_certain))

    def _value(self, node: ast.expr) -> _Value | None:
        if isinstance(node, ast.Name):
            return self.values.get(node.id)
        if isinstance(node, ast.Constant):
            return _Value("path", (node.value,)) if isinstance(node.value, str) else None
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Subscript):
            value = self._value(node.value)
            return None if value is None else replace(value, is_cut=True)
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        inner = [self._value(n) for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
        return _mixed([v for v in inner if v is not None], isinstance(node, ast.JoinedStr))

    def _operation(self, node: ast.BinOp) -> _Value | None:
        left, right = self._value(node.left), self._value(node.right)
        if isinstance(node.op, ast.Div) and left and right and left.kind == right.kind == "path":
            return _path_of([left, right])
        return _mixed([v for v in (left, right) if v is not None], isinstance(node.op, ast.Add))

    def _call(self, node: ast.Call) -> _Value | None:
        name = _name(node.func)
        owner = self._value(node.func.value) if isinstance(node.func, ast.Attribute) else None
        values = [v for argument in node.args if (v := self._value(argument)) is not None]
        if name == "open":
            return self._open(node, owner, values)
        if name == "Path" and len(node.args) == len(values) == 1 and values[0].kind == "path":
            return values[0]
        if name == "join" and owner is None and len(values) == len(node.args):
            return _path_of(values)
        if name in ("write_text", "write_bytes") and owner is not None and owner.kind == "path":
            self.written.update(owner.paths)
            return None
        if name in _READS:
            if owner is None or not owner.paths:
                self.is_opaque = True
                return None
            is_line = name == "readline" or bool(node.args and name == "read")
            return _Value("content", owner.paths, owner.is_plain, owner.is_cut or is_line)
        if name in _SAME and owner is not None and owner.kind == "content":
            return owner
        if name == "join" and len(values) == 1 and values[0].kind != "path":
            return replace(values[0], kind="content")
        if name in _WRAPS and isinstance(node.func, ast.Name) and values:
            return values[0] if values[0].kind != "path" else None
        contents = [v for v in (*values, owner) if v is not None and v.kind != "path"]
        return _mixed(contents, is_plain=False)

    def _open(self, node: ast.Call, owner: _Value | None, values: list[_Value]) -> _Value | None:
        own = owner if owner is not None and owner.kind == "path" else None
        path = own or (values[0] if node.args and values and values[0].kind == "path" else None)
        further = node.args if own else node.args[1:]
        modes = [*further[:1], *(k.value for k in node.keywords if k.arg == "mode")]
        texts = [m.value for m in modes if isinstance(m, ast.Constant) and isinstance(m.value, str)]
        if any(set(mode) & set("wax") for mode in texts):
            self.written.update(path.paths if path else ())
            return None
        first = node.args[0] if node.args and own is None else None
        is_literal = first is None or isinstance(
            first, ast.Constant | ast.Name | ast.BinOp | ast.Call
        )
        if path is None or not is_literal:
            self.is_opaque = True
            return None
        return _Value("handle", path.paths, path.is_plain)


def _path_of(parts: list[_Value]) -> _Value | None:
    """Return the path that consists of parts, or None where it is not known or too long."""
    if not parts or any(part.kind != "path" or len(part.paths) != 1 for part in parts):
        return None
    path = posixpath.join(*(part.paths[0] for part in parts))
    return _Value("path", (path,)) if is_file_path(path) else None


def _mixed(values: list[_Value], is_plain: bool) -> _Value | None:
    """Return what an expression of several values holds of files' content."""
    contents = [v for v in values if v.kind != "path"]
    if not contents:
        return None
    paths = tuple(dict.fromkeys(path for v in contents for path in v.paths))
    is_all = is_plain and all(v.is_plain for v in contents)
    return _Value("content", paths, is_all, any(v.is_cut for v in contents))


def _is_print(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) in _PRINTS
