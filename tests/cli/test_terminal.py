"""No name or text that comes from a file gives an order to the terminal it is printed on."""

from __future__ import annotations

import json
import re
import unicodedata

import pytest

from retrieval_eval.cli import run
from retrieval_eval.cli.common import echo, print_json, print_table
from tests.runs import write_task, write_trial

# Clears the screen, sets the title, changes the direction, returns to the line's start, C1 control.
EVIL = "\x1b[2J\x1b]0;owned\x07\u202ename\r\x9b31m\x7f"
SHOWN = "\\u001b[2J\\u001b]0;owned\\u0007\\u202ename\\u000d\\u009b31m\\u007f"
CONFIG = f"cfg{EVIL}"

GOLD = {"id": f"q{EVIL}", "query": f"red {EVIL} apple", "corpus": "fruit", "relevant": ["f1"]}
RETRIEVER = """
class Words:
    def search(self, query, *, corpus, k):
        return [("f1", 1.0), ("other" + query, 0.5)][:k]
"""


@pytest.fixture(autouse=True)
def tree(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_dir = tmp_path / "runs" / f"run{EVIL}"
    write_task(tmp_path / "benchmarks", "task-one", ["src/a.py"])
    for config in ("baseline", CONFIG):
        write_trial(run_dir, config, "task-one", ["src/a.py", f"src/{EVIL}.py"])
    (run_dir / "baseline" / f"{EVIL}__abcdef").mkdir()
    (tmp_path / "module_of_a_test.py").write_text(RETRIEVER)
    gold = tmp_path / f"gold{EVIL}.jsonl"
    gold.write_text(json.dumps({"source": "bootstrap", **GOLD}) + "\n")
    return tmp_path


def orders(text):
    """The characters of a text that are no text; JSON and layout have line ends and spaces."""
    bad = {"Cc", "Cf", "Zl", "Zp", "Cs"}
    return {c for c in text.replace("\n", "") if unicodedata.category(c) in bad}


def printed(capsys):
    said = capsys.readouterr()
    assert orders(said.out + said.err) == set()
    return said.out + said.err


RUN = f"run{EVIL}"
SEARCH = ["search", "run", "--retriever", "module_of_a_test:Words", "--gold", f"gold{EVIL}.jsonl"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["evaluate", RUN], 0),
        (["evaluate", RUN, "--output-dir", f"out{EVIL}"], 0),
        (["evaluate", f"other{EVIL}"], 3),
        (["evaluate", RUN, f"--no-such{EVIL}"], 64),
        (["evaluate", RUN, "--k", EVIL], 64),
        ([f"command{EVIL}"], 64),
        (["compare", RUN], 2),
        (["compare", "--run", RUN, "baseline", CONFIG], 2),
        (["compare", "--run", RUN, "baseline", f"none{EVIL}"], 3),
        (["compare", f"none{EVIL}", RUN], 3),
        (["trace", f"none{EVIL}"], 3),
        (["trace", f"runs/{RUN}/{CONFIG}/2026-01-05__10-00-00/task-one__aaaaaaa"], 0),
        (["validate", f"gold{EVIL}.jsonl"], 0),
        (["validate", f"none{EVIL}.jsonl"], 3),
        (["validate", f"none{EVIL}"], 3),
        (["report", f"none{EVIL}"], 3),
        (["gold", "export", "--to", "beir", f"to{EVIL}", "--gold", f"gold{EVIL}.jsonl"], 3),
        ([*SEARCH, "--label", EVIL, "--out", f"data{EVIL}"], 0),
        ([*SEARCH, "--corpus", EVIL], 3),
        (["search", "baseline", "--baseline", f"none{EVIL}"], 3),
        (["search", "diff", f"none{EVIL}", f"other{EVIL}"], 3),
        (["serve", "--host", f"host{EVIL}"], 3),
    ],
    ids=lambda value: re.sub(r"[^a-z-]+", "-", " ".join(value))[:40] if type(value) is list else "",
)
def test_every_command_prints_it_visibly(arguments, code, capsys):
    assert run(arguments) == code
    # Some messages quote what they name as Python does.
    assert re.search(r"\\(u00|x)1b", printed(capsys))


def test_documents_of_other_commands_are_named_visibly(capsys, monkeypatch, tree):
    from retrieval_eval import report

    monkeypatch.setattr(report, "build", lambda *_, **__: tree / f"page{EVIL}")
    assert run(["report", RUN]) == 0
    assert SHOWN in printed(capsys)
    assert run(["evaluate", RUN, "--output-dir", "out"]) == 0
    (path, *_) = sorted((tree / "out").rglob("*.retrieval_metrics.json"))
    document = json.loads(path.read_text())
    (tree / f"{EVIL}.json").write_text(json.dumps({**document, "ledger": EVIL}))
    capsys.readouterr()
    assert run(["validate", f"{EVIL}.json"]) == 3
    assert printed(capsys).startswith(f"{SHOWN}.json: /ledger: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", RUN, "--json"],
        ["compare", RUN, "--json"],
        [*SEARCH, "--label", EVIL, "--json"],
        ["trace", f"runs/{RUN}/{CONFIG}/2026-01-05__10-00-00/task-one__aaaaaaa", "--json"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_json_is_as_harmless_and_loses_nothing(arguments, capsys):
    run(arguments)
    said = capsys.readouterr()
    assert orders(said.out) == set()
    assert EVIL in str(json.loads(said.out)) or repr(EVIL)[1:-1] in str(json.loads(said.out))


def test_the_door_itself(capsys):
    echo("a\nb\tc\U000e0041d")
    print_table([["head", "n"], [f"x{EVIL}", "1"], ["y" * 80, "2"]])
    print_json({"a\u2028": "\U000e0041\ud800\u200b אב"})
    text = printed(capsys)
    assert text.startswith("a\\u000ab\\u0009c\\ue0041d\n")
    lines = text.splitlines()
    assert len({len(line) for line in lines[1:4]}) == 1, "columns stay aligned"
    assert "אב" in text
    assert json.loads("\n".join(lines[4:])) == {"a\u2028": "\U000e0041\ud800\u200b אב"}
