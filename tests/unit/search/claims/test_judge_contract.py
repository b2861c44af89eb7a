"""What every kind of judge promises, those of other distributions included."""

from __future__ import annotations

import json
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.model import to_builtins
from retrieval_eval.model.search_run import JudgeFacts
from retrieval_eval.search.claims.judge import (
    JUDGES,
    CachedJudge,
    JudgeError,
    Judgement,
    ask,
    checked,
    open_judge,
)
from retrieval_eval.search.claims.veto import verdict_of
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


def test_judgements_are_kept(kind, options, tmp_path):
    judge = open_judge(kind, options, cache=tmp_path / "cache.jsonl")
    assert isinstance(judge, CachedJudge)


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
    with pytest.raises(BadInputError, match="'oracle' is no judge; there are http"):
        open_judge("oracle")


HOSTILE = {
    "None": None,
    "a number": 0.93,
    "NaN": math.nan,
    "text": "yes",
    "a list": [True],
    "an array": np.array([True, False]),
    "nothing in it": {},
    "supported as a number": {"supported": 1},
    "supported as text": {"supported": "true"},
    "a span beyond the block": {"supported": True, "span": (0, len(BLOCK) + 1)},
    "a span before the block": Judgement(True, (-1, 4), ""),
    "an empty span": Judgement(True, (4, 4), ""),
    "a span of fractions": Judgement(True, (0.0, 4.0), ""),
    "a span of truth": Judgement(True, (False, True), ""),
    "a span of one end": {"supported": True, "span": [4]},
    "a span as text": {"supported": True, "span": "04"},
    "a quote of another type": {"supported": True, "quote": 443},
    "a reason of another type": {"supported": False, "reason": ["why"]},
    "unproved as text": Judgement(True, None, "", is_unproved="no"),
}


@pytest.mark.parametrize("answer", HOSTILE)
def test_what_is_no_judgement_never_becomes_a_number(answer, tmp_path):
    judge = SimpleNamespace(
        judge=lambda claim, block_text: HOSTILE[answer],
        facts=JudgeFacts(name="own", version="1", settings={}),
        concurrency=1,
    )
    with pytest.raises(JudgeError, match="the judge"):
        verdict_of(judge, "The port is 443", BLOCK)
    with pytest.raises(JudgeError, match="the judge"):
        CachedJudge(judge, tmp_path / "cache.jsonl").judge("The port is 443", BLOCK)
    assert not (tmp_path / "cache.jsonl").exists()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (True, Judgement(True, None, "supported")),
        (np.False_, Judgement(False, None, "not_supported")),
        ({"supported": True, "span": [7, 10]}, Judgement(True, (7, 10), "supported")),
        ({"supported": True, "quote": "is 443"}, Judgement(True, (29, 35), "supported")),
        ({"supported": True, "quote": "is 44"}, Judgement(False, None, "not_quoted", True)),
        ({"supported": False, "reason": " a\nb "}, Judgement(False, None, "a b")),
    ],
)
def test_what_a_judge_may_answer(answer, expected):
    assert checked(answer, BLOCK) == expected


@pytest.mark.parametrize("error", [ValueError("a key?"), SystemExit(3), RecursionError()])
def test_whatever_a_judge_raises_ends_the_run(error):
    def fail(claim, block_text):
        raise error

    judge = SimpleNamespace(judge=fail, concurrency=1)
    with pytest.raises(JudgeError, match=f"the judge failed: {type(error).__name__}"):
        ask(judge, "The port is 443", BLOCK)


@pytest.mark.parametrize(
    ("claim", "quote", "veto"),
    [
        ("The agent uses port 8443", "The port of the agent is 443", "number_differs"),
        ("The port is not encrypted", "It is encrypted", "negation_differs"),
        ("Agents use encryption", "is encrypted", None),
    ],
)
def test_rules_on_numbers_and_negation_stand_beside_any_judge(claim, quote, veto):
    judge = SimpleNamespace(
        judge=lambda claim, block_text: {"supported": True, "quote": quote},
        concurrency=1,
    )
    found = verdict_of(judge, claim, BLOCK)
    assert (found.veto, found.is_unproved, found.supported) == (veto, veto is not None, not veto)


MODULE = """
import collections
calls = []
def function(claim, block_text): return True
async def waits(claim, block_text): return True
def factory(threshold="0.5"): return Own(threshold)
class Own:
    version, concurrency = "7", 3
    def __init__(self, threshold="0.5"): self.threshold = float(threshold)
    def judge(self, claim, block_text): return self.threshold < 0.6
own = Own()
number = 7
def fails(**options): raise RuntimeError("no weights")
"""


@pytest.fixture
def own_module(tmp_path, monkeypatch):
    (tmp_path / "own_judges.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "own_judges", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))


@pytest.mark.usefixtures("own_module")
def test_judges_of_ones_own_code_are_opened_by_name():
    function = open_judge("own_judges:function")
    assert ask(function, "a", "b").supported
    assert len(function.facts.version) == 12
    for name in ("Own", "factory"):
        made = open_judge(f"own_judges:{name}", {"threshold": "0.9"})
        assert not ask(made, "a", "b").supported
        assert made.facts.settings == {"threshold": "0.9"}
        assert (made.facts.version, made.concurrency) == ("7", 3)
    assert open_judge("own_judges:own").facts.settings == {}


@pytest.mark.usefixtures("own_module")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_judges:absent", "has no 'absent'"),
        ("own_judges:number", "of type int; expected a function"),
        ("own_judges:fails", "fails: RuntimeError: no weights"),
        ("own_judges:waits", "async function"),
        ("own_judges:calls", "of type list"),
        ("own_judges:", "names no judge; expected http or package.module:callable"),
    ],
)
def test_what_is_no_judge_is_named(name, message):
    with pytest.raises(BadInputError, match=message):
        open_judge(name)
