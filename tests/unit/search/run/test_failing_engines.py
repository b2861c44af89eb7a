"""An engine that is absent, late, or answers otherwise than before: its name and the remedy."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.cli import run

SEARCH = "def search(query, *, corpus, k):\n    "
GOOD = f"{SEARCH}return [('a', 3.0), ('b', 2.0), ('c', 1.0)]\n"


@pytest.fixture
def guarded(tmp_path, monkeypatch, capsys):
    """A folder with the guard of an engine, and a function that asks another state of it."""
    monkeypatch.chdir(tmp_path)
    row = {"relevant": ["a"], "source": "chair"}
    rows = [{"id": f"q{place}", "query": str(place), **row} for place in range(6)]
    (tmp_path / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    count = iter(range(100))

    def ask(code):
        module = f"engine_{abs(hash(tmp_path))}_{next(count)}"
        (tmp_path / f"{module}.py").write_text(code)
        spec = f"{module}:search"
        given = ["--retriever", spec, "--gold", "gold.jsonl", "--label", module]
        return run(["search", "run", *given]), spec, module

    _, _, label = ask(GOOD)
    assert run(["search", "guard", "--init", label, "--gold", "gold.jsonl"]) == 0
    capsys.readouterr()
    return ask


@pytest.mark.parametrize(
    ("code", "why", "remedy"),
    [
        (
            f"{SEARCH}raise TimeoutError('5 s are over')\n",
            "TimeoutError: 5 s are over",
            "see that it runs and can be reached from here, then ask again",
        ),
        (
            f"import socket\n{SEARCH}socket.create_connection(('127.0.0.1', 1))\n",
            "ConnectionRefusedError",
            "see that it runs and can be reached from here, then ask again",
        ),
        (
            f"class Hits:\n    points = []\n{SEARCH}return Hits()\n",
            "the retriever returned a value of type Hits",
            "expected a sequence of ScoredDoc",
        ),
        (
            f"{SEARCH}return [('a', 0.1), ('b', 0.2), ('c', 0.3)]\n",
            "to 6 of 6 queries, as distances do",
            "negate them, or say that lower is better",
        ),
    ],
)
def test_a_run_of_it_has_no_verdict_and_neither_has_the_guard(guarded, capsys, code, why, remedy):
    status, spec, label = guarded(code)
    assert status == 2
    shown = capsys.readouterr().out
    assert all(text in shown for text in (spec, why, remedy))
    assert run(["search", "guard", label, "--gold", "gold.jsonl"]) == 2
    shown = capsys.readouterr().out
    assert all(text in shown for text in (spec, why, remedy))


def test_one_whose_client_is_absent_is_refused_with_what_to_install(guarded, capsys):
    status, spec, _ = guarded(f"import no_such_client\n{GOOD}")
    assert status == 3
    said = capsys.readouterr().err
    assert f"{spec}: importing" in said
    assert "install 'no_such_client' where this command runs" in said
