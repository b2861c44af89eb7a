"""Whether the tests notice small faults: 60 mutants, drawn once and kept in ``mutants.json``.

``python benchmarks/mutants.py`` puts each fault into a copy of the checkout, one at a time, runs
the tests of its room and prints how many are killed. ``--draw SEED`` draws the list anew, which is
done only when so many of its places are gone that it says nothing any more.

A mutant is one line of one function, so that it is found again where the function has moved.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
KEPT = Path(__file__).with_suffix(".json")
TIMEOUT_SECONDS = 900

# Room -> the modules that mutants are drawn from, and the tests that are to notice.
ROOMS = {
    "metrics": ("retrieval_eval/agents/metrics", ("tests/unit/agents/metrics", "tests/oracle")),
    "stats": ("retrieval_eval/stats", ("tests/unit/stats", "tests/oracle", "tests/property")),
    "study": ("retrieval_eval/agents/study", ("tests/unit/agents/study", "tests/property")),
    "shell": ("retrieval_eval/agents/traces/shell", ("tests/unit/agents/traces", "tests/traps")),
    "events": ("retrieval_eval/agents/events", ("tests/unit/agents/events", "tests/traps")),
    "guard": (
        "retrieval_eval/search/decide/guard",
        ("tests/unit/search/decide/guard", "tests/property"),
    ),
}
# Modules that were being rewritten when the list was drawn.
LEFT_OUT = (
    "stats/calibration", "stats/power", "study/stated", "study/design", "study/settings",
    "study/frames", "study/threats", "guard/adoption", "guard/rendering",
)  # fmt: skip

SWAPS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==",
    ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.And: "or", ast.Or: "and",
}  # fmt: skip


def main() -> None:
    """Draw the list, or run it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--draw", type=int, metavar="SEED")
    options.add_argument("--checkout", type=Path, default=ROOT)
    options.add_argument("--room", choices=ROOMS)
    options.add_argument("--out", type=Path, help="write the outcome of each mutant as JSON")
    given = options.parse_args()
    if given.draw is not None:
        KEPT.write_text(json.dumps(drawn(given.draw), indent=1) + "\n", encoding="utf-8")
        return
    mutants = json.loads(KEPT.read_text(encoding="utf-8"))
    chosen = [m for m in mutants if given.room in (None, m["room"])]
    outcomes = list(tried(chosen, given.checkout.resolve()))
    if given.out is not None:
        given.out.write_text(json.dumps(outcomes, indent=1) + "\n", encoding="utf-8")
    for room in ROOMS:
        of_room = [one["outcome"] for one in outcomes if one["room"] == room]
        if of_room:
            print(room, {outcome: of_room.count(outcome) for outcome in sorted(set(of_room))})
    killed = sum(one["outcome"] == "killed" for one in outcomes)
    print(f"{killed} of {len(outcomes)} mutants killed")


def drawn(seed: int) -> list[dict[str, str]]:
    """Return ten mutants of each room, each of another function where there are ten."""
    random_of = random.Random(seed)
    found = []
    for room, (folder, _) in ROOMS.items():
        by_function: dict[tuple[str, str], list[dict[str, str]]] = {}
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not any(str(path).endswith(f"{name}.py") or f"{name}/" in str(path)
                       for name in LEFT_OUT):  # fmt: skip
                for mutant in mutants_of(path, room):
                    by_function.setdefault((str(path), mutant["function"]), []).append(mutant)
        for key in random_of.sample(sorted(by_function), 10):
            found += [random_of.choice(by_function[key])]
    return found


def mutants_of(path: Path, room: str) -> Iterator[dict[str, str]]:
    """Yield the mutants of one module: one-line changes that are unique in their function."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for name, function in functions(ast.parse("\n".join(lines))):
        body = lines[function.lineno - 1 : function.end_lineno]
        for node in ast.walk(function):
            for row, start, end, text in changes(node, lines):
                old = lines[row]
                new = old[:start] + text + old[end:]
                if sum(line.strip() == old.strip() for line in body) == 1 and old != new:
                    yield {
                        "room": room,
                        "function": name,
                        "old": old.strip(),
                        "new": new.strip(),
                    }


def functions(
    tree: ast.AST, prefix: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield the outermost functions and methods, with their qualified names."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield f"{prefix}{node.name}", node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")


def changes(node: ast.AST, lines: list[str]) -> Iterator[tuple[int, int, int, str]]:
    """Yield row, start, end and new text of each change of one node."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from between(node.left, node.comparators[0], SWAPS[type(node.ops[0])], lines)
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPS:
        yield from between(node.left, node.right, SWAPS[type(node.op)], lines)
    elif isinstance(node, ast.BoolOp):
        yield from between(node.values[0], node.values[1], SWAPS[type(node.op)], lines)
    elif isinstance(node, ast.Constant) and type(node.value) is int and one_line(node):
        text = str(node.value + 1)
        yield node.lineno - 1, node.col_offset, int(node.end_col_offset or 0), text
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and one_line(node):
        yield node.lineno - 1, node.col_offset, node.operand.col_offset, ""


def between(
    left: ast.expr, right: ast.expr, text: str, lines: list[str]
) -> Iterator[tuple[int, int, int, str]]:
    """Yield the change of the operator between two operands that stand on one line."""
    if left.end_lineno == right.lineno:
        row, start, end = right.lineno - 1, int(left.end_col_offset or 0), right.col_offset
        if not set(lines[row][start:end]) & set("()"):
            yield row, start, end, f" {text} "


def one_line(node: ast.expr) -> bool:
    """Tell whether an expression starts and ends on one line."""
    return node.lineno == node.end_lineno


def tried(mutants: list[dict[str, str]], checkout: Path) -> Iterator[dict[str, str]]:
    """Yield each mutant with its outcome: killed, survived or gone."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        kept = shutil.ignore_patterns(".git", ".venv*", "build", "__pycache__", ".*_cache")
        shutil.copytree(checkout, copy, ignore=kept, symlinks=True)
        for mutant in mutants:
            place = found(mutant, copy)
            outcome = "gone" if place is None else outcome_of(mutant, *place, copy)
            print(outcome, mutant["function"], mutant["new"], file=sys.stderr, flush=True)
            yield {**mutant, "outcome": outcome}


def found(mutant: dict[str, str], checkout: Path) -> tuple[Path, int] | None:
    """Return file and row of a mutant's line, or None unless it is there exactly once."""
    places = []
    for path in sorted((checkout / "retrieval_eval").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if mutant["old"] not in source:
            continue
        lines = source.splitlines()
        for name, function in functions(ast.parse(source)):
            if name == mutant["function"]:
                rows = range(function.lineno - 1, function.end_lineno or function.lineno)
                places += [(path, row) for row in rows if lines[row].strip() == mutant["old"]]
    return places[0] if len(places) == 1 else None


def outcome_of(mutant: dict[str, str], path: Path, row: int, checkout: Path) -> str:
    """Run the tests of the room with the fault in place, and take it out again."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines(keepends=True)
    lines[row] = lines[row].replace(mutant["old"], mutant["new"])
    tests = [name for name in ROOMS[mutant["room"]][1] if (checkout / name).exists()]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m",
               "not slow and not browser", *tests]  # fmt: skip
    path.write_text("".join(lines), encoding="utf-8")
    try:
        ended = subprocess.run(
            command,
            cwd=checkout,
            env={"PYTHONPATH": str(checkout), "PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0"},
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "killed"
    finally:
        path.write_text(source, encoding="utf-8")
    return "survived" if ended.returncode == 0 else "killed"


if __name__ == "__main__":
    main()
