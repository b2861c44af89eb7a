"""README, CONTRIBUTING and docs name commands, options and files that exist; examples work."""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import click
import pytest
from click.testing import CliRunner

import retrieval_eval
from retrieval_eval.agents.events.evidence import Certainty
from retrieval_eval.agents.metrics.catalog import METRICS
from retrieval_eval.agents.study.gate import RULES
from retrieval_eval.agents.study.threats import THREATS
from retrieval_eval.agents.traces.dialects import DIALECTS
from retrieval_eval.agents.traces.formats import FORMATS
from retrieval_eval.cli import group
from retrieval_eval.report.registered import FIGURES
from retrieval_eval.search.ask.retrievers import RETRIEVERS
from retrieval_eval.search.claims.judge import JUDGES


@pytest.fixture(scope="module")
def readme(project) -> str:
    return (project / "README.md").read_text(encoding="utf-8")


def _shown_commands(text: str) -> Iterator[list[str]]:
    """Yield the words of every line of a code block that calls the command."""
    for block in re.findall(r"^[ >]*```.*?^[ >]*```", text, flags=re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            plain = re.sub(r"^(\$ |\.venv/bin/)*", "", line.strip())
            if plain.startswith("retrieval-eval "):
                yield plain.partition(" #")[0].split()[1:]


def test_commands_and_options_that_are_shown_exist(project):
    files = [*project.glob("*.md"), *(project / "docs").rglob("*.md")]
    shown = [(f, w) for f in files for w in _shown_commands(f.read_text(encoding="utf-8"))]
    assert len(shown) > 60
    wrong = []
    for file, words in shown:
        command: click.Command = group
        rest = list(words)
        while isinstance(command, click.Group) and rest and rest[0][0] != "-":
            found = command.get_command(click.Context(command), rest[0])
            if found is None:
                wrong.append(f"{file.name}: {' '.join(words)}")
                break
            command = found
            rest.pop(0)
        known = {name for p in command.params for name in (*p.opts, *p.secondary_opts)}
        known |= {"--help", "--version"}
        options = {w.strip("[]").partition("=")[0] for w in rest if w.strip("[]").startswith("--")}
        wrong += [f"{file.name}: {' '.join(words)}: {o}" for o in sorted(options - known)]
    assert wrong == []


def test_python_examples_compile_and_name_what_exists(readme):
    examples = _blocks("python", readme)
    assert examples
    for example in examples:
        compile(textwrap.dedent(example), "README.md", "exec")
        for name in re.findall(r"\brev\.(\w+)", example):
            assert hasattr(retrieval_eval, name), name


def _blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def contributing(project) -> str:
    return (project / "CONTRIBUTING.md").read_text(encoding="utf-8")


def test_examples_of_what_to_add_run_and_their_entry_points_name_them(contributing, monkeypatch):
    registries = {
        kind.group: kind
        for kind in (METRICS, FORMATS, DIALECTS, RETRIEVERS, JUDGES, RULES, THREATS, FIGURES)
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
    described = [room for row in rows for room in re.findall(r"`([\w/]+)`", row)]
    package = Path(retrieval_eval.__file__).parent
    rooms = {path.stem for path in package.iterdir() if re.match(r"[a-z]\w+(\.py)?$", path.name)}
    parts = {
        f"{wing}/{path.name}"
        for wing in ("agents", "search")
        for path in (package / wing).iterdir()
        if (path / "__init__.py").is_file()
    }
    assert set(described) == (rooms - {"agents", "search"}) | parts


def test_what_the_readme_shows_of_a_trace_is_printed(project, readme, monkeypatch):
    """The first command that a newcomer runs prints what the README says, with all three values."""
    (words,) = [w for w in _shown_commands(readme) if w[0] == "trace"]
    monkeypatch.chdir(project)
    printed = CliRunner().invoke(group, words)
    assert printed.exit_code == 0
    (shown,) = [text for text in _blocks("text", readme) if text.startswith("certain ")]
    assert re.findall(r"^(certain|possible|none) ", shown, re.MULTILINE) == [*get_args(Certainty)]
    assert shown in printed.output
