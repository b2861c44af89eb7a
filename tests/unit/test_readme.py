"""README and CONTRIBUTING name commands, options and files that exist; their examples work."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path

import pytest

import retrieval_eval
from retrieval_eval.metrics.catalog import METRICS
from retrieval_eval.report.registered import FIGURES
from retrieval_eval.search.claims.judge import JUDGES
from retrieval_eval.search.retrievers import RETRIEVERS
from retrieval_eval.study.gate import RULES
from retrieval_eval.traces.dialects import DIALECTS
from retrieval_eval.traces.formats import FORMATS

PROGRAM = "import sys; from retrieval_eval.cli import main; sys.exit(main())"


@pytest.fixture(scope="module")
def readme(project) -> str:
    return (project / "README.md").read_text(encoding="utf-8")


def _help(project, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words, "--help"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-1000:]
    return done.stdout


def test_the_table_of_commands_is_complete(project, readme):
    documented = re.findall(r"^\| `retrieval-eval (\w+)", readme, flags=re.MULTILINE)
    listing = _help(project).partition("Commands:")[2]
    commands = re.findall(r"^  (\w+)", listing, flags=re.MULTILINE)
    assert sorted(documented) == sorted(commands)


def test_documented_options_exist(project, readme):
    section = readme.partition("## The command")[2].partition("\n## ")[0]
    documented = set(re.findall(r"`(--[a-z-]+)`", section))
    assert documented >= {"--runs-root", "--benchmarks-root", "--output-dir", "--jobs", "--json"}
    listing = _help(project, "evaluate")
    assert [option for option in sorted(documented) if option not in listing] == []


def test_commands_that_are_shown_can_be_parsed(project, readme):
    blocks = _blocks("", readme)
    shown = [
        line.removeprefix(".venv/bin/").partition("#")[0].split()
        for block in blocks
        for line in block.splitlines()
        if line.startswith((".venv/bin/retrieval-eval ", "retrieval-eval "))
    ]
    assert shown
    for _, command, *words in shown:
        listing = _help(project, command)
        assert [w for w in words if w.startswith("--") and w not in listing] == []


def test_python_examples_compile_and_name_what_exists(readme):
    examples = _blocks("python", readme)
    assert examples
    for example in examples:
        compile(textwrap.dedent(example), "README.md", "exec")
        for name in re.findall(r"\brev\.(\w+)", example):
            assert hasattr(retrieval_eval, name), name


def test_every_public_function_is_in_the_readme(readme):
    functions = [name for name in retrieval_eval.__all__ if re.match(r"[a-z]", name)]
    assert functions
    assert [name for name in functions if f"`rev.{name}`" not in readme] == []


def _blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def contributing(project) -> str:
    return (project / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_examples_of_what_to_add_run_and_their_entry_points_name_them(contributing, monkeypatch):
    registries = {
        kind.group: kind
        for kind in (METRICS, FORMATS, DIALECTS, RETRIEVERS, JUDGES, RULES, FIGURES)
    }
    known = {group: set(kind) for group, kind in registries.items()}
    # A figure adds itself; the copy is gone after the test.
    monkeypatch.setattr(FIGURES, "_entries", dict(FIGURES.items()))
    shown = set()
    for section in re.split(r"^### ", contributing, flags=re.MULTILINE)[1:]:
        defined: dict[str, object] = {}
        for example in _blocks("python", section):
            exec(compile(example, "CONTRIBUTING.md", "exec"), defined)
        for text in _blocks("toml", section):
            ((group, points),) = tomllib.loads(text)["project"]["entry-points"].items()
            ((name, target),) = points.items()
            entry = defined[target.partition(":")[2]]
            kinds = {type(each) for each in registries[group].values()}
            assert type(entry) in kinds, "an entry is of the kind that the registry holds"
            assert name not in known[group], "an example takes a name that is in use"
            shown.add(group)
    assert shown == set(registries)


def test_files_that_contributors_are_sent_to_exist(project, contributing):
    named = set(re.findall(r"`((?:retrieval_eval|tests|docs|schemas)/[\w./*]*)`", contributing))
    walk = contributing.partition("## A newcomer's walk")[2].partition("\n## ")[0]
    named |= {f"retrieval_eval/{path}" for path in re.findall(r"`(\w+/[\w/.]*)`", walk)}
    assert len(named) > 40
    assert sorted(path for path in named if not (project / path).exists()) == []


def test_every_room_is_described_in_the_order_of_imports(contributing):
    table = contributing.partition("## The rooms")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, flags=re.MULTILINE)
    described = [room for row in rows for room in re.findall(r"`(\w+)`", row)]
    package = Path(retrieval_eval.__file__).parent
    rooms = {path.stem for path in package.iterdir() if re.match(r"[a-z]\w+(\.py)?$", path.name)}
    assert set(described) == rooms
