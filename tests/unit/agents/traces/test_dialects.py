from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from retrieval_eval.agents.traces.dialects import DIALECTS, tool_name, tool_row
from retrieval_eval.records import ToolCategory

CATEGORIES = get_args(ToolCategory)


def rows():
    return [
        pytest.param(name, dialect, tool, id=f"{name}-{tool.names[0]}")
        for name, dialect in DIALECTS.items()
        for tool in dialect.tools
    ]


@pytest.mark.parametrize(("name", "dialect", "tool"), rows())
def test_a_row_is_found_by_each_of_its_names(name, dialect, tool):
    """A name in two tables, or in a pattern that is read before it, would have another's row."""
    sides = {"harness": [False], "server": [True], "both": [False, True]}[dialect.offered_by]
    for side in sides:
        for known in tool.names:
            assert tool_row(known.replace("*", "x"), side) is tool, (name, known)


@pytest.mark.parametrize(("name", "dialect", "tool"), rows())
def test_a_row_has_a_known_category_for_any_arguments(name, dialect, tool):
    for arguments in ({}, {"url": None}, {"command": 3, "method": [], "output_mode": {}}):
        category = tool.category if isinstance(tool.category, str) else tool.category(arguments)
        assert category in CATEGORIES


def test_names_that_a_server_owns_name_it():
    for name, dialect in DIALECTS.items():
        assert not (dialect.own_names and dialect.offered_by != "server")
        for known in dialect.own_names:
            assert tool_name(known, {}).server == name


OUTSIDE = """
from retrieval_eval.agents.traces.dialects import Dialect, Tool
from retrieval_eval.agents.traces.results.local_files import read_local

their_agent = Dialect(
    tools=(Tool(("peek",), "file_read", read_local),),
    namespaces=frozenset({"theirs"}),
    delegating=frozenset({"Outsource"}),
)
"""


def test_another_distribution_adds_a_dialect(tmp_path):
    (tmp_path / "theirs-1.0.dist-info").mkdir()
    (tmp_path / "their_tools.py").write_text(OUTSIDE, encoding="utf-8")
    for name, text in {
        "METADATA": "Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n",
        "entry_points.txt": "[retrieval_eval.dialects]\ntheir-agent = their_tools:their_agent\n",
    }.items():
        (tmp_path / "theirs-1.0.dist-info" / name).write_text(text, encoding="utf-8")
    program = (
        "import json, sys; sys.path.insert(0, sys.argv[1])\n"
        "from retrieval_eval.records import ToolCall, ToolResult\n"
        "from retrieval_eval.agents.traces.dialects import delegating_tools\n"
        "from retrieval_eval.agents.traces.tools import interpret\n"
        "shown = ToolResult('x = 1')\n"
        "use = interpret(ToolCall('1', 'theirs__peek', {'path': '/w/a.py'}, shown))\n"
        "paths = [target.path for target in use.targets]\n"
        "print(json.dumps([use.category, use.is_mcp, paths, 'Outsource' in delegating_tools()]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == ["file_read", False, ["/w/a.py"], True]


def test_the_order_of_dialects_does_not_depend_on_what_is_imported_first():
    program = (
        "import sys, importlib\n"
        "package = 'retrieval_eval.agents.traces.formats'\n"
        "for name in sys.argv[1:]: importlib.import_module(f'{package}.{name}')\n"
        "from retrieval_eval.agents.traces.dialects import DIALECTS\n"
        "print(*DIALECTS, sep='|')"
    )
    orders = {
        subprocess.run(
            [sys.executable, "-c", program, *first],
            cwd=Path(__file__).resolve().parents[4],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for first in ([], ["openhands", "cursor"])
    }
    assert len(orders) == 1
