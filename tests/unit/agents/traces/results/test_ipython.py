from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.results.base import Seen
from retrieval_eval.agents.traces.results.ipython import read_ipython


def read(code, text="x = 1"):
    found = read_ipython(Seen({"code": code}, text, None, "other", "/w"))
    return {t.path: t.doubt for t in found.targets}


@pytest.mark.parametrize(
    "code",
    [
        "print(open('a.py').read())",
        "with open('/w/a.py') as f:\n    print(f.read())",
        "f = open('a.py')\nfor i, line in enumerate(f):\n    print(i, line)",
        "text = open('a.py').read()\nprint(text[:100])",
        "open('a.py').read()",
        "p = 'a.py'\nprint(open(p, 'r').read())",
        "from pathlib import Path\nprint(Path('a.py').read_text())",
        "import os\nprint(open(os.path.join('/w', 'a.py')).read())",
        "print(file_editor(**{'command': 'view', 'path': '/w/a.py'}))",
    ],
)
def test_a_literal_path_that_is_opened_and_printed_was_shown(code):
    assert read(code)["/w/a.py"] is None


@pytest.mark.parametrize(
    "code",
    [
        "text = open('a.py').read()\nif 'x' in text:\n    print('yes')",
        "import re\nprint(re.findall('x', open('a.py').read()))",
        "try:\n    print(open('a.py').read())\nexcept OSError as e:\n    print(e)",
        "print([line for line in open('a.py') if 'x' in line])",
        "print(open('a.py').read()[10:20])\nprint('x')",
        "for p in ['a.py', 'b.py']:\n    print(open(p).read())",
        "!cat a.py",
        "show('a.py')",
    ],
)
def test_what_may_have_been_shown_is_possible(code):
    assert read(code)["/w/a.py"] == "opaque_call"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("print(open('a.py').read())", ""),
        ("print(open('a.py').read())", "-" * 70 + "\nFileNotFoundError"),
        ("with open('a.py', 'w') as f:\n    f.write('x')\nprint('done')", "done"),
        ("print(1)", "1"),
    ],
)
def test_nothing_is_shown_by_a_failure_a_write_or_other_code(code, text):
    assert read(code, text) == {}


def test_a_window_names_its_file():
    code = "open_file('/w/a.py', 3)"
    assert read(code, "[File: /w/a.py (9 lines total)]\n3|x") == {"/w/a.py": None}


@pytest.mark.parametrize(
    "code",
    [
        "p = 'a/'\n" + "p = Path(p) / p\n" * 900 + "print(open(p).read())",
        "(" * 5000,
        "a" + "+a" * 9000,
        "\x00",
        "print(open('" + "a" * 30000 + "'))",
        "file_editor(**{1: 2})",
        "file_editor(**[])",
    ],
)
def test_hostile_code_is_read_without_an_error(code):
    assert all(doubt is not None for doubt in read(code).values())
