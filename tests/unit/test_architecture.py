"""The house rules that a machine can check: who imports whom, and one door for each border.

A border is where data enters or leaves the package: a file, a terminal, a page, another process,
the network. Each has one door, the modules that cross it; the table ``DOORS`` names what is
forbidden everywhere else. A static test cannot see everything (text that becomes HTML by
concatenation, a name made at run time); it notices the usual ways round.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PACKAGE = PROJECT / "retrieval_eval"

# Data flows one way: a room imports itself, its floor and the floors below, never one above.
FLOORS = (
    ("errors", "values", "escape", "distribution"),
    ("records", "paths", "registry"),
    ("model",),
    ("schema",),
    ("io",),
    ("demo", "ranking"),
    ("agents/traces", "agents/truth"),
    ("agents/events", "agents/outcomes"),
    ("agents/door",),
    ("agents/metrics",),
    ("agents/study",),
    ("agents/runs",),
    ("search/gold",),
    ("search/ask",),
    ("search/run",),
    ("search/claims",),
    ("search/change",),
    ("search/measure",),
    ("search/decide",),
    ("search",),
    ("report",),
    ("serve",),
    ("cli",),
)
WINGS = ("agents", "search")
"""Neither imports the other; their parts are rooms of their own where an order is stated."""
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# Statistics know no domain: plain arrays in, numbers (or the reason for none) out.
STATS_MAY_IMPORT = {"numpy", "scipy", "retrieval_eval.errors", "retrieval_eval.values"}
STATS_MAY_BE_USED_BY = {"stats", "agents", "search", "report"}

# What `import retrieval_eval` must not load: together they cost seconds.
HEAVY = (
    "IPython",
    "bm25s",
    "distributed",
    "fsspec",
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
    "pyarrow",
    "scipy",
    "seaborn",
    "sqlalchemy",
    "starlette",
    "tree_sitter",
    "unidiff",
    "uvicorn",
    "weasyprint",
    "yaml",
)


def _modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def _name(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


def _room(path: Path) -> str:
    return _room_of(path.relative_to(PACKAGE).with_suffix("").parts)


def _room_of(parts: Sequence[str]) -> str:
    part = "/".join(parts[:2])
    return part if part in FLOOR_OF else parts[0]


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    """Every node of a module; two dozen rules look at all of them."""
    return tuple(ast.walk(_tree(path)))


def _imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every imported module by its full name, also those inside functions."""
    for node in _nodes(path):
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


def _report(breaches: list[str], reason: str) -> None:
    assert not breaches, "\n".join([reason, *breaches])


def test_every_module_belongs_to_a_room_of_the_plan():
    breaches = [
        f"{_name(path)}: the room {_room(path)!r}"
        for path in _modules()
        if _room(path) not in FLOOR_OF
        and _room(path) not in {"__init__", "__main__", "agents", "stats"}
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
            other = _room_of(module.split(".")[1:])
            if other == "stats":
                is_allowed = room.split("/")[0] in STATS_MAY_BE_USED_BY
            else:
                is_allowed = room == "stats" or FLOOR_OF.get(other, -1) <= FLOOR_OF.get(room, -1)
                wings = {room.split("/")[0], other.split("/")[0]}
                is_allowed = is_allowed and wings != set(WINGS)
            if not is_allowed:
                breaches.append(f"{_name(path)}:{line}: {room} imports {other}")
    _report(breaches, "Data flows one way, so that every stage can be read and tested alone:")


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


def test_the_package_imports_without_heavy_libraries():
    program = (
        "import sys, retrieval_eval, retrieval_eval.agents.runs; "
        f"print(*(name for name in {HEAVY!r} if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == [], (
        "`retrieval_eval.agents.runs` loads them; import them inside the functions that need them"
    )


# --- doors ---

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


def _makes_csv(call: ast.Call, name: str) -> bool:
    return name.split(".")[-1] in {"to_csv", "DictWriter", "write_csv"}


def _shows_itself(call: ast.Call, name: str) -> bool:
    """Whether click writes its own message to the terminal, and not to a buffer."""
    return name.endswith("error.show") and not call.args


_TAG = re.compile(
    r"</?(?:a|b|body|br|caption|code|dd|details|div|dl|dt|em|figcaption|figure|h[1-6]|head|html|i|img"
    r"|li|main|nav|ol|p|pre|script|section|span|strong|style|summary|sup|svg|table|tbody|td|th|thead"
    r"|title|tr|ul)(?:[\s>/]|$)",
    re.IGNORECASE,
)


def _is_html_template(node: ast.AST) -> bool:
    """Whether a formatted string puts values between HTML tags."""
    if isinstance(node, ast.JoinedStr):
        has_value = any(isinstance(part, ast.FormattedValue) for part in node.values)
        return has_value and any(_TAG.search(text) for text in _constants(node))
    is_format = (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "format"
    )
    is_percent = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)
    if not (is_format or is_percent):
        return False
    template = node.func.value if isinstance(node, ast.Call) else node.left
    return any(_TAG.search(text) for text in _constants(template))


def _escapes_markup(node: ast.AST) -> bool:
    """Whether a string is a pattern of what Markdown obeys, or an escape of typst."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return False
    text = node.value
    is_short = len(text) < 200 and "\n" not in text
    is_markdown = "\\\\" in text and {"*", "`", "#", "["} <= set(text)
    return is_short and (is_markdown or text.startswith("\\u{"))


def _constants(node: ast.AST) -> list[str]:
    return [
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


@dataclass(frozen=True)
class Door:
    """A border, the modules that cross it, and what is forbidden everywhere else."""

    border: str
    reason: str
    modules: tuple[str, ...]
    """Paths below the package; a folder ends with a slash."""
    names: frozenset[str] = frozenset()
    """Functions by their full name, however they are imported."""
    imports: frozenset[str] = frozenset()
    """Modules that are not even imported."""
    is_forbidden_call: Callable[[ast.Call, str], bool] | None = None
    is_forbidden_node: Callable[[ast.AST], bool] | None = None
    allowed: Mapping[str, str] = field(default_factory=dict)
    """Modules that go round the door today, with the reason; a test notices entries out of use."""

    def is_at(self, path: str) -> bool:
        return any(path == m or (m.endswith("/") and path.startswith(m)) for m in self.modules)

    def breaches(self, path: Path) -> Iterator[tuple[int, str]]:
        """Yield line and source of every way round the door in a file."""
        for line, module in _imported(path):
            if any(module == name or module.startswith(f"{name}.") for name in self.imports):
                yield line, f"imports {module}"
        for node, name in _uses(path):
            if isinstance(node, ast.Call):
                is_breach = self.is_forbidden_call is not None and self.is_forbidden_call(
                    node, name
                )
            else:
                is_breach = name in self.names
            if is_breach:
                yield node.lineno, ast.unparse(node)
        if self.is_forbidden_node is not None:
            for node in _nodes(path):
                if self.is_forbidden_node(node):
                    yield node.lineno, ast.unparse(node)


def _imported(path: Path) -> Iterator[tuple[int, str]]:
    """Every imported module, and every name imported from one, which may be a module."""
    yield from _imports(path)
    for node in _nodes(path):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


@cache
def _uses(path: Path) -> list[tuple[ast.expr, str]]:
    """Every name that is read and every call, with its full name, however it was imported."""
    aliases = {}
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            aliases |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom):
            aliases |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}

    def full_name(node: ast.expr) -> str:
        if isinstance(node, ast.Attribute):
            return f"{full_name(node.value)}.{node.attr}"
        return aliases.get(node.id, node.id) if isinstance(node, ast.Name) else "(…)"

    found: list[tuple[ast.expr, str]] = []
    for node in _nodes(path):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            found.append((node, full_name(node)))
        elif isinstance(node, ast.Call):
            found.append((node, full_name(node.func)))
    return found


def _asks_a_judge(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "judge"


def _asks_a_retriever(call: ast.Call, name: str) -> bool:
    """Whether a retriever is asked here, or an answer made up that could be scored."""
    keywords = {keyword.arg for keyword in call.keywords}
    method = name.split(".")[-1]
    is_asking = "k" in keywords or None in keywords
    if method in {"search", "search_by_id", "first_stage", "rerank"}:
        return isinstance(call.func, ast.Attribute) and is_asking
    return name in {
        "retrieval_eval.search.ask.QueryResult",
        "retrieval_eval.search.ask.rank",
        "retrieval_eval.search.run.running.run_queries",
    }


def _believes_a_run(node: ast.AST) -> bool:
    """Whether it is read here what a search run says of itself: that it has a verdict."""
    return isinstance(node, ast.Attribute) and node.attr == "has_verdict"


def _evaluates_text(call: ast.Call, name: str) -> bool:
    """Whether pandas is given text to evaluate here, which may call anything."""
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr in {"eval", "query"}
        and bool(call.args)
    )


_WITHHELD = frozenset(
    {"agent_never_acted", "calls_unreadable", "evidence_incomplete", "nothing_resolved"}
)


def _withholds_a_number(node: ast.AST) -> bool:
    """Whether a trial's numbers are withheld here for what its trace does not show."""
    return isinstance(node, ast.Constant) and node.value in _WITHHELD


DOORS = (
    Door(
        "reading untrusted JSON",
        "`decode` and `read_json` return a sentence where the text is hostile, and never raise:",
        ("io/files.py",),
        names=frozenset(
            {"json.load", "json.loads", "json.JSONDecoder", "msgspec.json.decode"}
            | {"msgspec.json.Decoder", "orjson.loads", "pandas.read_json"}
        ),
        allowed={
            "agents/traces/results/payload.py": "completes a JSON text or string that was cut",
            "io/artefacts.py": "own documents, of which the digest was checked",
            "search/gold/__init__.py": "rows read through the door, and their repeated keys",
            "search/run/running.py": "round trips of what a retriever describes and of settings",
        },
    ),
    Door(
        "reading untrusted TOML",
        "`decode_toml` returns a sentence where the text is hostile, and never raises:",
        ("io/files.py",),
        names=frozenset({"tomllib.load", "tomllib.loads"}),
    ),
    Door(
        "YAML",
        "`yaml_text` writes it; nothing reads it, which would need bounds and a safe loader:",
        ("io/files.py",),
        imports=frozenset({"yaml", "ruamel.yaml"}),
    ),
    Door(
        "reading own artefacts",
        "`read_artefact` checks major version and digest; `read_json` is for untrusted files:",
        ("io/", "agents/traces/", "agents/truth/", "agents/outcomes.py", "agents/door/"),
        names=frozenset({"retrieval_eval.io.files.read_json"}),
        allowed={
            "search/run/document.py": "labels only; the run that is chosen goes through the door",
            "search/decide/guard/justification.py": "written by people, so untrusted",
            "report/loading.py": "counts that a command printed, or people wrote",
            "cli/validate.py": "reports every fault of a document, not only the first",
        },
    ),
    Door(
        "writing files",
        "Files appear whole or not at all, which only retrieval_eval.io guarantees:",
        ("io/",),
        is_forbidden_call=_writes_to_file,
    ),
    Door(
        "SQLite files",
        "`reading_database` bounds the work, and runs nothing of what an untrusted database holds:",
        ("io/sqlite.py",),
        imports=frozenset({"sqlite3"}),
    ),
    Door(
        "unpacking",
        "A small packed file may hold more than memory does; `io.packed` bounds it:",
        ("io/packed.py",),
        imports=frozenset({"gzip", "bz2", "lzma", "zipfile", "zstandard", "compression"}),
        allowed={
            "agents/traces/formats/inspect_log.py": "makes the example of its format",
        },
    ),
    Door(
        "text to a terminal",
        "`echo` escapes control characters in names and texts; a library prints nothing at all:",
        ("cli/common.py",),
        names=frozenset(
            {"print", "pprint.pprint", "traceback.print_exc", "tqdm.tqdm.write"}
            | {"click.echo", "click.secho", "click.style", "click.echo_via_pager"}
            | {f"sys.{s}.{w}" for s in ("stdout", "stderr") for w in ("write", "buffer.write")}
        ),
        is_forbidden_call=_shows_itself,
    ),
    Door(
        "whether a trial's numbers may be trusted",
        "`why_nothing_is_computable` decides whether a trace shows enough for a number:",
        ("agents/events/evidence.py", "values.py"),
        is_forbidden_node=_withholds_a_number,
        allowed={
            "agents/events/__init__.py": "finds the flag that the decision reads",
            "agents/traces/reading.py": "finds the flag that the decision reads",
            "agents/study/gate.py": "names the trials that were withheld for it",
            "report/run.py": "says of a trial with possible files alone why it has no number",
        },
    ),
    Door(
        "answers of a retriever",
        "Only `run_queries` asks, and only what `read_documents` let through becomes a result:",
        ("search/run/running.py", "search/ask/retrievers/"),
        is_forbidden_call=_asks_a_retriever,
        allowed={
            "search/measure.py": "the one caller of `run_queries`",
            "search/change/anew.py": "results that a search run keeps, as results",
        },
    ),
    Door(
        "answers of a judge",
        "`ask` alone asks a judge, and `checked` decides what of its answer may count:",
        ("search/claims/judge.py",),
        is_forbidden_call=_asks_a_judge,
    ),
    Door(
        "answers to numbers",
        "`score_run` scores results of `run_queries`, or those that a search run keeps:",
        ("search/run/scoring.py",),
        names=frozenset(
            {
                "retrieval_eval.search.run.scoring.score_run",
                "retrieval_eval.ranking.evaluate_rankings",
                "retrieval_eval.ranking.evaluate.evaluate_rankings",
            }
        ),
        allowed={
            "search/measure.py": "scores what `run_queries` returned",
            "search/change/anew.py": "scores a search run under other labels, or a part of it",
        },
    ),
    Door(
        "whether a search run may be trusted",
        "`distrust` and `own_faults` ask the queries; what a file says of itself is no proof:",
        ("search/run/trust.py", "search/change/comparability.py", "report/", "serve/"),
        is_forbidden_node=_believes_a_run,
        allowed={
            "cli/search.py": "of the run that was just made",
            "search/change/__init__.py": "shows what either run says of itself",
            "search/decide/history.py": "shows what each run says of itself",
            "cli/search_history.py": "shows what each run says of itself",
        },
    ),
    Door(
        "escaping for HTML",
        "`html_text` also makes invisible characters visible:",
        ("escape.py",),
        names=frozenset({"html.escape", "xml.sax.saxutils.escape", "markupsafe.escape"}),
    ),
    Door(
        "text to HTML",
        "A page is made where every value passes `html_text`:",
        ("report/show.py", "report/render.py", "serve/app.py"),
        is_forbidden_node=_is_html_template,
        allowed={
            "search/decide/guard/rendering.py": "HTML inside a comment in Markdown",
            "search/run/markdown.py": "text as code inside Markdown; `entities` escapes it",
            "agents/study/frames.py": "a comparison that shows itself in a notebook",
        },
    ),
    Door(
        "text to Markdown and typst",
        "`markdown_text` and `typst_string` are the only escapes of markup:",
        ("escape.py",),
        is_forbidden_node=_escapes_markup,
        allowed={"search/run/markdown.py": "Markdown that people read as text escapes less"},
    ),
    Door(
        "cells to CSV",
        "Elsewhere a cell could be a formula that a spreadsheet runs:",
        ("io/files.py",),
        names=frozenset({"csv.writer", "csv.DictWriter", "pyarrow.csv.write_csv"}),
        is_forbidden_call=_makes_csv,
    ),
    Door(
        "work in other processes",
        "`pipeline.workers` notices each process that dies, also in the middle of an answer:",
        ("agents/runs/away.py",),
        names=frozenset({"concurrent.futures.ProcessPoolExecutor", "os.fork", "os.forkpty"}),
        imports=frozenset({"multiprocessing", "joblib", "loky", "concurrent.futures.process"}),
    ),
    Door(
        "HTTP",
        "Requests need deadlines, limits of size, retries and hidden credentials:",
        ("search/ask/http.py",),
        imports=frozenset(
            {"httpx", "requests", "aiohttp", "urllib3", "urllib.request", "http.client", "tenacity"}
        ),
    ),
    Door(
        "object storage",
        "`Place` refuses credentials in a URL, and gives every error of a storage a sentence:",
        ("io/remote.py",),
        imports=frozenset({"fsspec", "s3fs", "boto3", "botocore"}),
    ),
    Door(
        "paths of commands",
        "A parameter takes a URL for what it is, or refuses it, and none for a local path:",
        ("cli/common.py",),
        names=frozenset({"click.Path", "click.File"}),
    ),
    Door(
        "drawing and rendering",
        "Numbers are computed without drawing libraries, which take seconds to load:",
        ("report/",),
        imports=frozenset(
            {"matplotlib", "seaborn", "papermill", "nbconvert", "nbclient", "weasyprint"}
        ),
    ),
    Door(
        "starting programs",
        "Traces are hostile input; only Quarto is ever started:",
        ("report/quarto.py",),
        imports=frozenset({"subprocess"}),
    ),
    Door(
        "running code",
        "Traces are hostile input; nothing in them is run, only the cells of our own notebooks:",
        ("report/execute.py",),
        names=frozenset({"eval", "exec", "compile", "os.system", "os.popen", "pandas.eval"}),
        imports=frozenset({"pickle", "marshal"}),
        is_forbidden_call=_evaluates_text,
    ),
)
EACH_DOOR = pytest.mark.parametrize("door", DOORS, ids=lambda door: door.border.replace(" ", "-"))


def _inside(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@EACH_DOOR
def test_a_border_is_crossed_at_its_door(door):
    breaches = [
        f"{_name(path)}:{line}: {what}"
        for path in _modules()
        if not door.is_at(_inside(path)) and _inside(path) not in door.allowed
        for line, what in door.breaches(path)
    ]
    _report(breaches, f"{door.border}: {door.reason}")


@EACH_DOOR
def test_doors_and_exceptions_are_in_use(door):
    unused = [name for name in door.modules if not (PACKAGE / name).exists()]
    unused += [
        name
        for name in door.allowed
        if not (PACKAGE / name).exists() or not any(door.breaches(PACKAGE / name))
    ]
    _report(unused, f"{door.border}: remove what is no exception (any more):")
