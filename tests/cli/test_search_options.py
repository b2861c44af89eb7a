"""One option name, one meaning; and every command that takes a run knows it by its label."""

from __future__ import annotations

import json

import click
import pytest

from retrieval_eval.cli import group, run
from retrieval_eval.io.files import write_bytes
from retrieval_eval.search.change.baseline import ACCEPTABLE as OF_A_BASELINE
from retrieval_eval.search.change.comparability import ACCEPTABLE
from retrieval_eval.search.demo import JUDGE
from retrieval_eval.search.gold import load_gold_set
from retrieval_eval.search.run.document import run_bytes
from tests.searches import answer, run_of

# These name a gold set to write, one of two, and ones that may be absent.
OTHER_GOLD = {"gold import", "search diff", "report"}


def commands() -> dict[str, click.Command]:
    context = click.Context(group)
    found = {}
    for name in ("gold", "search"):
        part = group.get_command(context, name)
        assert isinstance(part, click.Group)
        for below in part.list_commands(context):
            command = part.get_command(context, below)
            assert command is not None
            found[f"{name} {below}"] = command
    for name in ("report", "serve"):
        command = group.get_command(context, name)
        assert command is not None
        found[name] = command
    return found


def with_option(name: str) -> dict[str, click.Option]:
    return {
        command: option
        for command, of in commands().items()
        for option in of.params
        if isinstance(option, click.Option) and name in option.opts
    }


@pytest.mark.parametrize(
    "name",
    ["--gold", "--backlog", "--queries", "--jobs"],
)
def test_an_option_has_one_meaning_wherever_it_occurs(name):
    found = {command: o for command, o in with_option(name).items() if command not in OTHER_GOLD}
    assert len(found) > 1
    assert len({(o.help, str(o.default), o.type.name, o.envvar) for o in found.values()}) == 1


def test_no_gold_set_is_an_argument():
    arguments = {
        (command, parameter.name)
        for command, of in commands().items()
        for parameter in of.params
        if isinstance(parameter, click.Argument)
    }
    assert not {pair for pair in arguments if "gold" in str(pair[1])}


def test_every_command_that_reads_a_backlog_takes_the_same_option():
    assert with_option("--backlog").keys() == {
        "gold backlog", "search run", "serve",
    }  # fmt: skip
    for gone in ("--backlog-file", "--backlog-database", "--file"):
        assert with_option(gone) == {}


def test_accept_offers_what_can_be_accepted():
    wanted = dict.fromkeys(("search diff", "report"), ACCEPTABLE)
    wanted["search baseline"] = OF_A_BASELINE
    found = {command: tuple(o.type.choices) for command, o in with_option("--accept").items()}
    assert found == wanted


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Two labelled runs of a gold set with two corpora and an unanswerable query."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": "q1", "query": "one", "corpus": "law", "relevant": ["a"]},
        {"id": "q2", "query": "two", "corpus": "tax", "relevant": ["a"]},
        {"id": "q3", "query": "three", "corpus": "tax", "relevant": {}, "answerable": False},
    ]
    path = tmp_path / "data/eval/gold-set.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps({**row, "source": "chair"}) + "\n" for row in rows))
    texts = [
        {"id": d, "corpus": corpus, "text": d} for d in ("a", "x", "y") for corpus in ("law", "tax")
    ]
    corpus = "".join(json.dumps(row) + "\n" for row in texts)
    (tmp_path / "corpus.jsonl").write_text(corpus)
    gold = load_gold_set(path)
    for number, (label, docs) in enumerate([("before", ["a", "x"]), ("after", ["y", "a"])], 1):
        answers = [answer(query.id, docs) for query in gold.queries]
        document = run_of(gold, answers, label=label, generated_at=f"2026-01-0{number}T00:00:00Z")
        write_bytes(path.with_name(f"eval-report-{number}.json"), run_bytes(document))
    write_bytes(path.with_name("baseline.json"), path.with_name("eval-report-1.json").read_bytes())
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        ["search", "show", "after"],
        ["search", "baseline", "--update", "after"],
        ["search", "diff", "before", "after"],
        ["search", "guard", "after"],
        ["search", "noise", "before", "after"],
        ["gold", "export", "--to", "trec", "out", "--run", "after"],
        ["gold", "pool", "--run", "before", "--run", "after", "--corpus-file", "corpus.jsonl",
         "--labellers", "a,b", "--out", "sheets"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_run_is_known_by_its_label(tree, capsys, command):
    assert run(command) in (0, 1, 2)
    assert "neither a file nor the label" not in capsys.readouterr().err
    (tree / "data/eval").rename(tree / "elsewhere")
    options = [o for p in commands()[" ".join(command[:2])].params for o in p.opts]
    if "--gold" in options and command[1] != "diff":
        command = [*command, "--gold", "elsewhere/gold-set.jsonl"]
    assert run(command) == 3
    assert "neither a file nor the label of a run in data/eval" in capsys.readouterr().err
    (tree / "retrieval-eval.toml").write_text('data = "elsewhere"')
    assert run(command) in (0, 1, 2)
    assert "neither a file nor the label" not in capsys.readouterr().err


def test_claims_of_a_label_are_judged_anew_and_not_of_the_claims(tree, capsys):
    drafts = [{"id": "q1", "draft": "The fee is 5 EUR."}]
    (tree / "drafts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in drafts))
    command = ["search", "claims", "after", "--drafts", "drafts.jsonl"]
    command += ["--corpus-file", "corpus.jsonl", "--judge", JUDGE]
    for _ in range(2):
        assert run(command) == 0
        assert capsys.readouterr().out.endswith("data/eval/eval-report-2.claims.json\n")
    assert not list((tree / "data/eval").glob("*.claims.claims.json"))
