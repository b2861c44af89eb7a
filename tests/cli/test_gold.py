from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from retrieval_eval.cli.gold import gold as group
from retrieval_eval.cli.validate import validate as validate_command
from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.search.gold.chunks import text_digest
from retrieval_eval.search.run.document import run_bytes as search_run_bytes
from tests.searches import answer, gold_query, gold_set, run_of

GOLD = "data/eval/gold-set.jsonl"
SEED = (
    '{"id":"g001","query":"Betterment levy","practice_area":"levy","corpus":"lib",'
    '"relevant_case_law_ids":["u-1","u-2"],"source":"bootstrap","note":""}\n'
)
CHAIR = (
    '{"id":"g002","query":"late fees","corpus":"law","relevant":{"u-1":2},"source":"chair",'
    '"origin":"adversarial"}\n'
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "data" / "eval" / "gold-set.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(SEED + CHAIR)
    return tmp_path


def call(*arguments):
    return CliRunner().invoke(group, arguments)


def validate(*arguments):
    return CliRunner().invoke(validate_command, arguments)


def test_validate_shows_what_a_gold_set_is_made_of(folder):
    found = validate(GOLD)
    assert found.exit_code == 0
    lines = found.output.splitlines()
    counts = "2 queries, 3 judged pairs (3 relevant), 1 of 2 queries reviewed"
    assert lines[:2] == [
        f"{GOLD}: valid, {counts}",
        "0 queries still to label, 0 labels, 0 anchors",
    ]
    assert "levy                1  50.0 %" in lines
    assert "(not stated)        1  50.0 %" in lines
    grades = lines[lines.index("grade  judged pairs   share") :]
    assert grades[1:3] == ["1                 2  66.7 %", "2                 1  33.3 %"]
    document = json.loads(validate(GOLD, "--json").output)[GOLD]
    assert (document["valid"], document["faults"]) == (True, [])
    assert document["gold"]["n_labelled_pairs"] == 3


def test_validate_names_every_fault_and_exits_with_3(folder):
    (folder / "bad.jsonl").write_text(SEED + SEED + "{\x1b\n")
    found = validate("bad.jsonl")
    assert found.exit_code == 3
    first, second = found.output.splitlines()
    assert first.startswith("bad.jsonl: line 2: the same query for the corpus 'lib' is on line 1")
    assert second.startswith("bad.jsonl: line 3: not valid JSON")
    document = json.loads(validate("bad.jsonl", "--json").output)["bad.jsonl"]
    assert document["valid"] is False
    assert len(document["faults"]) == 2


def test_a_set_without_a_query_is_not_passed_as_valid(folder):
    (folder / "wiped.jsonl").write_text("")
    found = validate("wiped.jsonl")
    assert str(found.exception) == "wiped.jsonl holds no query"
    assert isinstance(found.exception, NothingToEvaluateError)


def test_a_document_that_the_corpus_lacks_is_a_fault(folder):
    rows = [{"id": "u-1", "corpus": name, "text": "x"} for name in ("lib", "law")]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = validate(GOLD, "--corpus-file", "corpus.jsonl")
    assert found.exit_code == 3
    assert found.output == f"{GOLD}: line 1: the document 'u-2' is unknown in corpus.jsonl\n"


def test_a_label_whose_text_changed_is_shown(folder):
    labelled = {"u-1": text_digest("late fees")}
    # Earlier versions wrote more about the text than its digest.
    former = {"u-2": {"sha256": text_digest("levy"), "n_words": 1, "head": "", "sketch": ""}}
    row = {"id": "q1", "query": "fees", "relevant": ["u-1", "u-2", "u-3"], "source": "chair"}
    (folder / "now.jsonl").write_text(json.dumps(row | {"digests": labelled | former}) + "\n")
    texts = {"u-1": "late fees were waived", "u-2": " levy ", "u-3": "anything"}
    rows = [json.dumps({"id": name, "text": text}) for name, text in texts.items()]
    (folder / "corpus.jsonl").write_text("\n".join(rows))
    found = validate("now.jsonl", "--corpus-file", "corpus.jsonl")
    assert found.exit_code == 1
    assert "texts of labels: 1 same, 1 changed, 0 gone, 1 not recorded" in found.output
    assert ["q1", "u-1", "changed"] in [line.split() for line in found.output.splitlines()]


@pytest.mark.parametrize("form", ["trec", "beir"])
def test_export_says_what_is_lost_and_the_rest_comes_back(folder, form):
    found = call("export", "--to", form, "out")
    assert found.exit_code == 0
    assert "lost: areas of 1 query" in found.output
    assert "lost: the names of the corpora (law, lib)" in found.output
    back = call("import", "--from", form, "out", "--gold", "new/gold.jsonl", "--corpus", "law")
    assert back.output == "new/gold.jsonl: 2 queries\n"
    assert (folder / "new" / "gold.jsonl").read_text() == (
        '{"id":"g001","query":"Betterment levy","corpus":"law","relevant":{"u-1":1,"u-2":1},'
        '"source":"chair"}\n'
        '{"id":"g002","query":"late fees","corpus":"law","relevant":{"u-1":2},"source":"chair"}\n'
    )


def test_gold_set_and_corpus_are_not_imported_into_one_file(folder):
    target = ("--gold", "one.jsonl", "--corpus-file", "./one.jsonl")
    found = call("import", "--from", "beir", "nowhere", *target)
    assert found.exit_code == 2  # usage
    assert "--gold and --corpus-file name the same file" in found.output


def test_a_run_is_exported_along(folder):
    gold = gold_set(gold_query("g001", {"u-1": 1}))
    run = run_of(gold, [answer("g001", {"u-1": 1.5})], label="k1 = 2")
    (folder / "run.json").write_bytes(search_run_bytes(run))
    (folder / "data/eval/eval-report-1.json").write_bytes(search_run_bytes(run))
    for name in ("run.json", "k1 = 2"):
        found = call("export", "--to", "trec", "out", "--run", name)
        assert "lost: everything but documents and scores" in found.output
        assert (folder / "out" / "run.txt").read_text() == "g001 Q0 u-1 1 1.5 k1_=_2\n"


def test_import_and_export_for_programs(folder):
    assert call("export", "--to", "trec", "out", "--json").exit_code == 0
    found = json.loads(call("export", "--to", "trec", "out", "--json").output)
    n = len((folder / "out" / "topics.tsv").read_text().splitlines())
    assert (found["target"], found["n_queries"]) == ("out", n)
    assert any("no place for them" in sentence for sentence in found["lost"])
    arguments = ("import", "--from", "trec", "out", "--gold", "g.jsonl", "--json")
    found = json.loads(call(*arguments).output)
    assert (found["gold"], found["n_queries"]) == ("g.jsonl", n)
    assert (found["corpus_file"], found["n_documents"]) == (None, None)
    assert isinstance(found["notes"], list)


@pytest.mark.parametrize(
    "arguments",
    [
        ("import", "--from", "trec", "q", "t", "--gold", "data/eval/gold-set.jsonl"),
        ("import", "--from", "trec", "q", "t", "--gold", "x", "--corpus-file", "y"),
        ("import", "--from", "trec", "none", "t", "--gold", "x"),
        ("import", "--from", "beir", "data", "--gold", "x"),
        ("export", "--to", "trec", "x", "--gold", "none"),
        ("export", "--to", "beir", "x", "--corpus-file", "none"),
    ],
)
def test_bad_input_leaves_everything_as_it_was(folder, arguments):
    (folder / "q").write_text("q1 0 d1 1\n")
    (folder / "t").write_text("q1\tlate fees\n")
    before = {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")}
    assert isinstance(call(*arguments).exception, BadInputError)
    assert {path: path.is_file() and path.read_bytes() for path in folder.rglob("*")} == before


@pytest.mark.parametrize(
    "arguments",
    [
        ("import", "--from", "trec", "q", "--gold", "x"),
        ("import", "--from", "beir", "q", "t", "--gold", "x"),
        ("export", "--to", "trec", "x", "--corpus-file", "q"),
        ("export", "--to", "beir", "x", "--run", "q"),
        ("export", "x"),
    ],
)
def test_wrong_usage(folder, arguments):
    (folder / "q").write_text("q1 0 d1 1\n")
    assert call(*arguments).exit_code == 2  # click's own; the program makes it 64
