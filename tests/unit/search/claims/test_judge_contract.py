"""What every kind of judge promises, those of other distributions included."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.model import to_builtins
from retrieval_eval.search.claims.judge import FORMER_NAMES, JUDGES, CachedJudge, open_judge
from tests.local_server import local_server, says

BLOCK = "Ports\n\nThe port of the agent is 443. It is encrypted."
YES = {"supported": True, "quote": "port of the agent is 443", "reason": "stated"}


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(params=sorted(JUDGES))
def kind(request):
    return request.param


@pytest.fixture
def options(kind):
    with local_server(says(YES)) as server:
        yield {"http": {"base_url": server.url, "model": "m"}}.get(kind, {})


def test_it_says_what_it_is_and_where_the_support_is(kind, options):
    judge = open_judge(kind, options)
    assert judge.concurrency >= 1
    assert json.loads(json.dumps(to_builtins(judge.facts)))["name"] == kind
    found = judge.judge("The port of the agent is 443", BLOCK)
    assert found.supported
    assert "443" in BLOCK[slice(*found.span)]
    assert judge.judge("The port of the agent is 443", BLOCK) == found
    getattr(judge, "close", lambda: None)()


def test_only_judgements_worth_keeping_are_kept(kind, options, tmp_path):
    judge = open_judge(kind, options, cache=tmp_path / "cache.jsonl")
    assert isinstance(judge, CachedJudge) == JUDGES[kind].is_cached


def test_an_unknown_option_is_named(kind, options):
    with pytest.raises(BadInputError, match="has no option 'nonsense'"):
        open_judge(kind, {**options, "nonsense": "1"})


def test_the_options_of_the_help_are_those_there_are(kind, options):
    assert JUDGES[kind].summary
    for name in JUDGES[kind].options:
        said = ""
        try:
            open_judge(kind, {**options, name: " "})
        except BadInputError as error:
            said = str(error)
        assert "has no option" not in said


def test_an_unknown_judge_is_refused_with_those_there_are():
    with pytest.raises(BadInputError, match="'oracle' is no judge; there are rules, http"):
        open_judge("oracle")
    assert set(FORMER_NAMES.values()) <= set(JUDGES)
