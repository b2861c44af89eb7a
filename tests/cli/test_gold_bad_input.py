"""A file with a fault stops every gold command: file and line, exit code 3, nothing written."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.cli import run
from retrieval_eval.search.gold import load_gold_set
from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.search.gold.labelling import build_pool, write_pool
from tests.unit.serve.documents import digest

GOLD = '{"id":"q1","query":"late fees","relevant":["d1"],"source":"chair"}\n'
BOTH = '{"id":"q2","query":"levy","area":"a","practice_area":"a","source":"chair"}\n'
DOCUMENT = '{"id":"d1","text":"late fees are due"}\n'

COMMANDS = {
    "bootstrap": "--database sqlite:///feedback.db --corpus-file corpus.jsonl",
    "settle": "sheets/sheet-ana.jsonl --key sheets/key.json",
    "agreement": "",
    "relabel": "--old-corpus corpus.jsonl --new-corpus corpus.jsonl --out moved",
    "export": "--to beir out --corpus-file corpus.jsonl",
    "pseudonymize": "--entities e.toml --mapping m.json --out out --corpus-file corpus.jsonl",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gold.jsonl").write_text(GOLD)
    (tmp_path / "corpus.jsonl").write_text(DOCUMENT)
    (tmp_path / "feedback.db").touch()
    (tmp_path / "e.toml").write_text('[[entity]]\nkind = "person"\nname = "Ada Example"\n')
    gold, corpus = load_gold_set(tmp_path / "gold.jsonl"), read_corpus(tmp_path / "corpus.jsonl")
    write_pool(build_pool(gold, [{"q1": ["d1"]}], corpus, ["ana"]), tmp_path / "sheets")
    return tmp_path


def _refused(folder, capsys, command, *named):
    before = digest(folder)
    code = run(["gold", *command.split(), *COMMANDS[command].split(), "--gold", "gold.jsonl"])
    captured = capsys.readouterr()
    said = captured.err + captured.out
    assert code == 3, said
    assert all(each in said for each in named), said
    assert "Traceback" not in said
    assert digest(folder) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_broken_gold_set(folder, capsys, command):
    (folder / "gold.jsonl").write_text(GOLD + BOTH)
    _refused(folder, capsys, command, "gold.jsonl: line 2: /practice_area: says the same as 'area'")


@pytest.mark.parametrize("command", [name for name, given in COMMANDS.items() if "corpus" in given])
def test_a_broken_corpus(folder, capsys, command):
    (folder / "corpus.jsonl").write_text(DOCUMENT + '{"id":"d2","text":7}\n')
    _refused(folder, capsys, command, "corpus.jsonl: line 2: /text: expected text")


def test_a_broken_sheet_or_key(folder, capsys):
    command = "settle"
    sheet, key = folder / "sheets" / "sheet-ana.jsonl", folder / "sheets" / "key.json"
    row = json.loads(sheet.read_text())
    sheet.write_text(json.dumps(row | {"grade": 9}) + "\n")
    _refused(folder, capsys, command, "sheet-ana.jsonl: line 1: the grade 9")
    good = json.loads(key.read_text())
    key.write_text(json.dumps(good | {"digests": {"default": {"d1": {"sha256": "x"}}}}))
    _refused(folder, capsys, command, "key.json: /digests/default/d1: cannot be used")


@pytest.mark.parametrize("command", ["agreement", "bootstrap"])
def test_a_broken_setting(folder, capsys, command):
    (folder / "gold.toml").write_text('names = "own"\n')
    _refused(folder, capsys, command, "gold.toml: names: expected one of standard, case-law")
