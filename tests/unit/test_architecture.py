"""The house rules that a machine can hold: who imports whom, who writes, who prints, how long."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PACKAGE = PROJECT / "retrieval_eval"

# Data flows one way: a room imports itself, its floor and the floors below, never one above.
FLOORS = (
    ("errors", "values", "escape", "distribution"),
    ("records", "paths", "registry"),
    ("model",),
    ("schema",),
    ("io",),
    ("demo", "traces", "ground_truth"),
    ("events",),
    ("metrics",),
    ("outcomes",),
    ("impact",),
    ("pipeline",),
    ("gold",),
    ("search",),
    ("report",),
    ("serve",),
    ("cli",),
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# Statistics know no domain: plain arrays in, numbers (or the reason for none) out.
STATS_MAY_IMPORT = {"numpy", "scipy", "retrieval_eval.errors", "retrieval_eval.values"}
STATS_MAY_BE_USED_BY = {"stats", "impact", "gold", "search", "report"}

DRAWING = {"matplotlib", "seaborn", "papermill", "nbconvert", "nbclient", "weasyprint"}

# What `import retrieval_eval` must not load: together they cost seconds.
HEAVY = (
    "IPython",
    "bm25s",
    "httpx",
    "jsonschema",
    "matplotlib",
    "mcp",
    "nbconvert",
    "nbformat",
    "numpy",
    "pandas",
    "papermill",
    "psycopg",
    "scipy",
    "seaborn",
    "sqlalchemy",
    "starlette",
    "tree_sitter",
    "unidiff",
    "uvicorn",
    "weasyprint",
)

WRITING_METHODS = {
    "hardlink_to",
    "mkdir",
    "rmdir",
    "savefig",
    "symlink_to",
    "to_csv",
    "unlink",
    "write_bytes",
    "write_text",
}
WRITING_CALLS = {
    "os.link",
    "os.makedirs",
    "os.mkdir",
    "os.remove",
    "os.rename",
    "os.replace",
    "os.symlink",
    "os.unlink",
}


def _modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


def _room(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every imported module by its full name, also those inside functions."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{_name(path)}:{node.lineno}: imports are written in full"
            if node.module == "retrieval_eval":
                for alias in node.names:
                    yield node.lineno, f"retrieval_eval.{alias.name}"
            else:
                yield node.lineno, node.module or ""


def _calls(path: Path) -> Iterator[tuple[ast.Call, str]]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Call):
            yield node, ast.unparse(node.func)


def _report(breaches: list[str], reason: str) -> None:
    assert not breaches, "\n".join([reason, *breaches])


def test_every_module_belongs_to_a_room_of_the_plan():
    breaches = [
        f"{_name(path)}: the room {_room(path)!r}"
        for path in _modules()
        if _room(path) not in FLOOR_OF and _room(path) not in {"__init__", "__main__", "stats"}
    ]
    _report(breaches, "A new room needs a place in the order of imports (FLOORS):")


def test_imports_go_one_way():
    breaches = []
    for path in _modules():
        room = _room(path)
        if room in {"__init__", "__main__"}:
            continue
        for line, module in _imports(path):
            if not module.startswith("retrieval_eval."):
                continue
            other = module.split(".")[1]
            if other == "stats":
                is_allowed = room in STATS_MAY_BE_USED_BY
            else:
                is_allowed = room == "stats" or FLOOR_OF.get(other, -1) <= FLOOR_OF.get(room, -1)
            if not is_allowed:
                breaches.append(f"{_name(path)}:{line}: {room} imports {other}")
    _report(breaches, "Data flows one way, so that every stage can be read and tested alone:")


def test_only_the_report_draws_and_renders():
    breaches = [
        f"{_name(path)}:{line}: imports {module}"
        for path in _modules()
        if _room(path) != "report"
        for line, module in _imports(path)
        if module.split(".")[0] in DRAWING
    ]
    _report(breaches, "Numbers are computed without drawing libraries, which take seconds to load:")


def test_statistics_know_no_domain():
    breaches = [
        f"{_name(path)}:{line}: imports {module}"
        for path in _modules()
        if _room(path) == "stats"
        for line, module in _imports(path)
        if not module.startswith("retrieval_eval.stats")
        and module.split(".")[0] not in sys.stdlib_module_names
        and module.split(".")[0] not in STATS_MAY_IMPORT
        and ".".join(module.split(".")[:2]) not in STATS_MAY_IMPORT
    ]
    _report(breaches, "stats works on plain numbers, so that an oracle can check every function:")


def _opens_for_writing(call: ast.Call, name: str) -> bool:
    if name.split(".")[-1] not in {"open", "fdopen"}:
        return False
    # `open(file, mode)` and `path.open(mode)` have their mode in different places.
    position = 0 if isinstance(call.func, ast.Attribute) and name != "io.open" else 1
    if name in {"os.open", "os.fdopen"}:
        return True
    modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"]
    modes += call.args[position : position + 1]
    return any(
        isinstance(mode, ast.Constant)
        and isinstance(mode.value, str)
        and set(mode.value) & set("wax+")
        for mode in modes
    )


def _writes_to_file(call: ast.Call, name: str) -> bool:
    method = name.split(".")[-1]
    if name.startswith("shutil.") and method not in {"which", "get_terminal_size"}:
        return True
    if name in WRITING_CALLS or _opens_for_writing(call, name):
        return True
    if not isinstance(call.func, ast.Attribute) or method not in WRITING_METHODS:
        return False
    # A figure or a frame may be written to memory: `figure.savefig(buffer)`, `frame.to_csv()`.
    if method == "savefig":
        return not (call.args and isinstance(call.args[0], ast.Name))
    return method != "to_csv" or bool(call.args)


def test_only_io_writes():
    breaches = [
        f"{_name(path)}:{call.lineno}: {name}"
        for path in _modules()
        if _room(path) != "io"
        for call, name in _calls(path)
        if _writes_to_file(call, name)
    ]
    _report(breaches, "Files appear whole or not at all, which only retrieval_eval.io guarantees:")


def test_only_the_command_line_prints():
    printing = {"print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write"}
    breaches = [
        f"{_name(path)}:{call.lineno}: {name}"
        for path in _modules()
        if _room(path) != "cli"
        for call, name in _calls(path)
        if name in printing
    ]
    _report(breaches, "A library that prints cannot be used by another program:")


def test_text_reaches_a_terminal_through_one_door():
    doors = {"cli/common.py"}
    breaches = [
        f"{_name(path)}:{call.lineno}: {name}"
        for path in _modules()
        if path.relative_to(PACKAGE).as_posix() not in doors
        for call, name in _calls(path)
        if name in {"print", "click.echo", "click.secho", "click.style", "error.show"}
        and not (name == "error.show" and call.args)
    ]
    _report(breaches, "`echo` takes the orders to a terminal out of names and texts:")


def test_csv_is_written_in_one_place():
    breaches = [
        f"{_name(path)}:{call.lineno}: {name}"
        for path in _modules()
        if path != PACKAGE / "io" / "csv_cells.py"
        for call, name in _calls(path)
        if name.split(".")[-1] in {"to_csv", "DictWriter", "write_csv"} or name == "csv.writer"
    ]
    _report(breaches, "Elsewhere a cell could be a formula that a spreadsheet runs:")


def test_nothing_from_a_trace_is_executed():
    running = {"eval", "exec", "compile", "os.system", "os.popen", "pickle.loads", "pickle.load"}
    breaches = [
        f"{_name(path)}:{call.lineno}: {name}"
        for path in _modules()
        for call, name in _calls(path)
        if name in running
    ]
    breaches += [
        f"{_name(path)}:{line}: imports {module}"
        for path in _modules()
        if _room(path) != "report"  # it starts Quarto, and asks git for the commit
        for line, module in _imports(path)
        if module.split(".")[0] in {"subprocess", "pickle", "marshal"}
    ]
    _report(breaches, "Traces are hostile input; nothing in them is ever run:")


def test_the_package_imports_without_heavy_libraries():
    program = (
        f"import sys, retrieval_eval; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [], (
        "`import retrieval_eval` loads them; import them inside the functions that need them"
    )


def test_the_rules_notice_a_breach(tmp_path):
    source = tmp_path / "module.py"
    source.write_text(
        "import os, shutil\n"
        "open('a', 'w'); open('a'); path.open('ab'); path.open(); open('b', mode='r+')\n"
        "path.write_text(''); shutil.copy(a, b); os.replace(a, b); text.replace('a', 'b')\n"
        "figure.savefig(buffer); figure.savefig('a.png'); frame.to_csv(); frame.to_csv('a.csv')\n",
        encoding="utf-8",
    )
    found = [ast.unparse(call) for call, name in _calls(source) if _writes_to_file(call, name)]
    assert sorted(found) == [
        "figure.savefig('a.png')",
        "frame.to_csv('a.csv')",
        "open('a', 'w')",
        "open('b', mode='r+')",
        "os.replace(a, b)",
        "path.open('ab')",
        "path.write_text('')",
        "shutil.copy(a, b)",
    ]
