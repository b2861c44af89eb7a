"""Every way we know in which a retriever goes wrong, at every place that makes numbers of it."""

from __future__ import annotations

import asyncio
import math
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import count
from time import sleep

import numpy as np
import pytest
from msgspec.structs import replace

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model import to_builtins
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.model.search_run import SearchRun
from retrieval_eval.search import ask, measure
from retrieval_eval.search.ask import FAILURES, ScoredDoc
from retrieval_eval.search.change.baseline import compare_with_baseline, plan_update
from retrieval_eval.search.decide.guard import check
from retrieval_eval.search.decide.noise import noise
from retrieval_eval.search.decide.thresholds import shipped_thresholds
from retrieval_eval.search.measure import run_search
from retrieval_eval.search.run import Settings
from retrieval_eval.search.run.abstention import Kinds, operating_points
from retrieval_eval.search.run.document import load_search_run, run_bytes
from retrieval_eval.search.run.trust import require_trust, warnings

SETTINGS = Settings(n_resamples=20, depth=20)
DAY = date(2026, 1, 5)
GOLD = GoldSet(
    (
        *(GoldQuery(f"q{n}", f"text {n}", "docs", relevant={"a": 2, "é": 1}) for n in range(3)),
        *(GoldQuery(f"n{n}", f"none {n}", "docs", answerable=False) for n in range(15)),
    ),
    "0" * 64,
)
KNOWN = {"docs": ("a", "b", "é", "7")}


class Answers:
    """A retriever that answers every query by calling a function."""

    def __init__(self, function, **facts):
        self.function, self.known_documents = function, KNOWN
        self.__dict__ |= facts

    def search(self, query, *, corpus, k):
        return self.function()


class Shout(str):
    def __str__(self):
        return "b"

    def encode(self, *given):
        return b"b"

    def __bool__(self):
        return True


def raising(error):
    def fail():
        raise error

    return fail


def midway():
    yield ("a", 2.0)
    raise OSError("lost")


def deep():
    return deep()


class Hollow:
    """Says that it is a sequence and is none."""

    __class__ = list

    def __iter__(self):
        raise SystemExit(0)


class MuteError(Exception):
    def __str__(self):
        raise ValueError


# The score beside the id -1 with which faiss (1.15.1) fills an answer up.
FLT_MAX = float(np.finfo(np.float32).max)

# Mode: what every query gets, and the code under which it fails.
HOSTILE = {
    "NaN": (lambda: [("a", math.nan)], "nan_score"),
    "infinity": (lambda: [("a", math.inf)], "nan_score"),
    "minus infinity": (lambda: [("a", 1.0), ("b", -math.inf)], "nan_score"),
    "score as text": (lambda: [("a", "0.9")], "nan_score"),
    "truth value as score": (lambda: [("a", True)], "nan_score"),
    "None among scores": (lambda: [("a", 1.0), ("b", None)], "nan_score"),
    "score left out of some": (lambda: [{"id": "a", "score": 1.0}, {"id": "b"}], "nan_score"),
    "NaN of numpy": (lambda: [("a", np.float32("nan"))], "nan_score"),
    "NaN as decimal": (lambda: [("a", Decimal("sNaN"))], "nan_score"),
    "number beyond floats": (lambda: [("a", 10**400)], "nan_score"),
    "duplicate": (lambda: [("a", 2.0), ("a", 1.0)], "duplicate_documents"),
    "duplicate as number and text": (lambda: [7, "7"], "duplicate_documents"),
    "unknown id": (lambda: ["a", "z"], "unknown_documents"),
    "other Unicode form": (lambda: ["e\u0301"], "unknown_documents"),
    "half a surrogate pair": (lambda: ["a\ud83d"], "unknown_documents"),
    "id of 1 MB": (lambda: ["a" * 1_000_000], "not_a_ranking"),
    "endless generator": (lambda: ((f"d{n}", 1.0) for n in count()), "not_a_ranking"),
    "generator that raises midway": (midway, "raised"),
    "None": (lambda: None, "not_a_ranking"),
    "text": (lambda: "a", "not_a_ranking"),
    "bytes": (lambda: b"a", "not_a_ranking"),
    "mapping": (lambda: {"a": 1.0}, "not_a_ranking"),
    "complex number": (lambda: 1j, "not_a_ranking"),
    "id that is no id": (lambda: [(1.5, 1.0)], "not_a_ranking"),
    "empty id": (lambda: [("", 1.0)], "not_a_ranking"),
    "raises": (raising(ConnectionError("refused")), "raised"),
    "raises without a message": (raising(MuteError()), "raised"),
    "leaves the program": (raising(SystemExit(0)), "raised"),
    "cancels": (raising(asyncio.CancelledError()), "raised"),
    "calls itself for ever": (deep, "raised"),
    "no memory": (raising(MemoryError()), "raised"),
    "false sequence": (Hollow, "raised"),
    "distances": (lambda: [("a", 0.5), ("b", 1.5)], "scores_rise"),
}

FIRST_OF_A_CODE = {code: mode for mode, (_, code) in reversed(HOSTILE.items())}.values()
"""Behind its code a failed query is like any other, so that every face is looked at once a code."""

# Mode: an unusual answer that is the ranking a, b all the same.
UNUSUAL = {
    "pairs": lambda: [("a", 2.0), ("b", 1.0)],
    "scored documents": lambda: (ScoredDoc("a", 2), ScoredDoc("b", 1)),
    "mappings": lambda: [{"doc": "a", "score": 2}, {"id": "b", "score": 1}],
    "generator": lambda: (pair for pair in [("a", 2.0), ("b", 1.0)]),
    "numpy types": lambda: [(np.str_("a"), np.float32(2)), (np.str_("b"), np.array(1))],
    "decimals and fractions": lambda: [("a", Decimal(2)), ("b", Fraction(1))],
    "negative zero": lambda: [("a", 1.0), ("b", -0.0)],
    "text of a subclass": lambda: [(Shout("a"), 2.0), ("b", 1.0)],
    "order alone": lambda: ["a", "b"],
    "places where faiss found nothing": lambda: [
        ("a", 2.0),
        ("b", 1.0),
        ("z", -FLT_MAX),
        ("z", np.float32(FLT_MAX)),
    ],
}


def run_with(retriever, **options) -> SearchRun:
    return run_search(GOLD, retriever, settings=SETTINGS, **options)


@cache
def sound() -> SearchRun:
    return replace(run_with(Answers(UNUSUAL["pairs"])), label="sound")


def saved(run, path):
    path.write_bytes(run_bytes(to_builtins(run)))
    return path


def numbers_of(block, path=""):
    """Every number of a block of a run that says how well something was found."""
    found = []
    if isinstance(block, dict):
        for name, value in block.items():
            found += numbers_of(value, f"{path}/{name}")
    elif isinstance(block, list | tuple):
        for place, value in enumerate(block):
            found += numbers_of(value, f"{path}/{place}")
    elif isinstance(block, float) or (isinstance(block, int) and path.endswith("/value")):
        found.append(path)
    return found


def assert_no_face_gives_a_number(run, tmp_path):
    assert not run.status.has_verdict
    document = to_builtins(run)
    for name, mean in document["metrics"].items():
        # Bounds of what failed are all that is known: from 0 to 1.
        low, high = mean.pop("failed_low", None), mean.pop("failed_high", None)
        assert (low, high) in {(None, None), (0.0, 1.0)}, name
        assert numbers_of(mean) == []
    assert all(value is None for query in run.queries for value in query.metrics.values())
    assert run.abstention.true_positive_rate.value is None
    assert run.abstention.false_refusal_rate.value is None
    assert run.abstention.auc.value is None
    assert run.abstention.roc == ()
    assert run.abstention.operating_point.passes is None
    assert run.composite.value.value is None
    with pytest.raises(NothingToEvaluateError):
        operating_points(Kinds.of(run.queries), confidence=0.95)
    other = replace(run, generated_at="2026-01-06T10:00:00Z")
    for runs in ([run, other], [sound(), run]):
        with pytest.raises(NothingToEvaluateError, match="has no verdict"):
            noise(runs, generated_at="2026-01-07T10:00:00Z", seed=1)
    for sides in (([run], [sound()]), ([sound()], [run])):
        ruling = check(*sides, shipped_thresholds(), today=DAY)
        assert ruling.verdict == "no_verdict"
        assert {row.verdict for row in ruling.rows} == {"no_verdict"}
    file = saved(run, tmp_path / "run.json")
    with pytest.raises(NothingToEvaluateError, match="cannot be the baseline"):
        plan_update(tmp_path / "baseline.json", file)
    assert compare_with_baseline(sound(), run, seed=1).delta is None
    with pytest.raises(NothingToEvaluateError, match="has no verdict"):
        require_trust(run, "it")
    # What a file says of itself does not help it.
    lying = replace(run, status=replace(run.status, has_verdict=True, reasons=()))
    assert check([lying], [sound()], shipped_thresholds(), today=DAY).verdict == "no_verdict"
    assert not load_search_run(file).status.has_verdict


@pytest.mark.parametrize("mode", HOSTILE)
def test_a_broken_answer_is_never_a_number(mode, tmp_path, monkeypatch):
    monkeypatch.setattr(ask, "MAX_DOCUMENTS", 1000)
    function, code = HOSTILE[mode]
    run = run_with(Answers(function))
    assert {query.failure for query in run.queries} == {code}
    assert run.trust.problems == {code: 18}
    assert all(query.error and query.seconds >= 0 for query in run.queries)
    assert not run.status.has_verdict
    if mode in FIRST_OF_A_CODE:
        assert_no_face_gives_a_number(run, tmp_path)


def test_every_code_of_failure_has_a_mode():
    run = run_with(Answers(lambda: ["a"]), floor=0.5)
    assert run.trust.problems == {"only_an_order": 18}
    assert {code for _, code in HOSTILE.values()} | {"only_an_order"} == FAILURES.keys()


@pytest.mark.parametrize("mode", UNUSUAL)
def test_an_unusual_answer_gives_the_numbers_of_the_plain_one(mode):
    run = run_with(Answers(UNUSUAL[mode]))
    assert run.trust.problems == {}
    assert run.metrics == sound().metrics
    assert [[found.doc for found in query.ranking] for query in run.queries] == [["a", "b"]] * 18
    assert all(math.copysign(1, q.ranking[1].score) == 1 for q in run.queries if mode[0] == "n")


def test_fifteen_answers_of_nan_are_no_refusals():
    """Not even where the fifteen are all the unanswerable queries, and a failure is allowed."""

    class Nan(Answers):
        def search(self, query, *, corpus, k):
            return [("a", math.nan)] if query.startswith("none") else ["a"]

    for max_failed in (0.0, 0.99):
        run = run_with(Nan(None), max_failed=max_failed)
        assert run.trust.problems == {"nan_score": 15}
        assert run.abstention.true_positive_rate.reason == "query_failed"
        assert run.abstention.operating_point.passes is None
        ruling = check([run], [sound()], shipped_thresholds(), today=DAY)
        assert ruling.verdict == "no_verdict"


def test_an_answer_that_is_changed_after_it_was_given_stays_what_it_was():
    shared = [["a", 2.0], ["b", 1.0]]

    def search():
        shared[:] = [["a", 2.0], ["b", 1.0]]
        return shared

    run = run_with(Answers(search))
    shared[0][0] = "z"
    shared.clear()
    assert run.metrics == sound().metrics


def test_a_slow_answer_is_an_answer_with_its_seconds():
    turns = count()
    run = run_with(Answers(lambda: sleep(0.05 if next(turns) == 0 else 0) or ["a"]))
    assert run.queries[0].seconds >= 0.05
    assert run.queries[1].seconds >= 0
    assert run.status.has_verdict


@pytest.mark.parametrize(
    "facts",
    [
        {"describe": raising(KeyError("x"))},
        {"describe": raising(SystemExit(0))},
        {"describe": lambda: {"x": object()}},
        {"describe": lambda: None},
        {"known_documents": 7},
        {"known_documents": {"docs": "ab"}},
        {"known_documents": {"docs": [1]}},
    ],
    ids=[
        "describe raises",
        "describe leaves",
        "describe returns an object",
        "describe returns nothing",
        "no mapping of documents",
        "documents as text",
        "documents as numbers",
    ],
)
def test_a_retriever_that_says_nonsense_of_itself_is_refused_before_it_is_asked(facts):
    asked = []
    with pytest.raises(BadInputError, match=r"the retriever's .* is of no use|no mapping"):
        run_with(Answers(lambda: asked.append(1) or ["a"], **facts))
    assert asked == []


class Moody(Answers):
    """Answers in another way the second time it is asked."""

    def __init__(self, first, second, **facts):
        super().__init__(None, **facts)
        self.first, self.second, self.seen = first, second, set()

    def search(self, query, *, corpus, k):
        is_second = query in self.seen
        self.seen.add(query)
        answer = self.second if is_second else self.first
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize(
    ("first", "second", "n_same", "n_scores", "options"),
    [
        (["a", "b"], ["a", "b"], 18, 18, {}),
        ([("a", 2.0), ("b", 1.0)], [("a", 2.1), ("b", 1.0)], 18, 0, {}),
        ([("a", 2.0), ("b", 1.0)], [("a", 0.9), ("b", 0.8)], 0, 0, {"abstain_at": 1.5}),
        ([("a", 2.0), ("b", 1.0)], [("a", 2.0), ("b", 0.9)], 0, 0, {"floor": 1.0}),
        (["a", "b"], ["b", "a"], 0, 0, {}),
        (["a", "b"], ["a"], 0, 0, {}),
        (["a"], [], 0, 0, {}),
        (["a"], ["z"], 0, 0, {}),
        (["a"], ConnectionError(), 0, 0, {}),
    ],
)
def test_what_a_second_answer_shows(first, second, n_same, n_scores, options):
    run = run_with(Moody(first, second), **options)
    trust = run.trust
    assert (trust.n_asked_twice, trust.n_same_answer, trust.n_same_scores) == (18, n_same, n_scores)
    assert (trust.determinism, trust.is_deterministic) == ("measured", n_same == 18)
    assert (trust.varied_high == 1) == (n_same == 0)
    # That a system varies is a fact, and noise can be measured, whatever it says of itself: a
    # declaration that the second answers refute counts as none.
    denied = run_with(Moody(first, second, is_deterministic=True), **options)
    assert run.status.has_verdict
    assert denied.status.has_verdict
    assert denied.trust.is_deterministic == (n_same == 18)
    assert denied.trust.determinism == ("declared" if n_same == 18 else "measured")
    said = [warning for warning in warnings(denied) if "asked twice" in warning]
    assert len(said) == (n_same < 18)
    assert all("although the retriever says that it is deterministic" in one for one in said)
    sides = [denied], [sound()]
    ruling = check(*sides, shipped_thresholds(), today=DAY)
    assert all(row.decided_by != "determinism" for row in ruling.rows) == (n_same < 18)


def test_what_is_not_measured_is_not_claimed():
    trust = run_with(Answers(lambda: ["a"]), ask_twice=0).trust
    assert (trust.determinism, trust.is_deterministic, trust.sample) == ("not_measured", None, None)
    assert trust.varied_high is None
    trust = run_with(Answers(lambda: ["a"], is_deterministic=True), ask_twice=0).trust
    assert (trust.determinism, trust.is_deterministic) == ("declared", True)
    few = run_with(Answers(lambda: ["a"]), ask_twice=5).trust
    assert (few.n_asked_twice, few.n_same_answer) == (5, 5)
    assert few.varied_high == pytest.approx(1 - 0.025 ** (1 / 5))


def test_what_a_retriever_remembers_is_no_second_answer(monkeypatch):
    turns = count()

    class Cached:
        """Answers at random, and remembers every answer."""

        def __init__(self):
            self.known = {}

        def search(self, query, *, corpus, k):
            return self.known.setdefault(query, [f"d{next(turns)}"])

    monkeypatch.setattr(measure, "open_retriever", lambda spec, options: Cached())
    by_name = run_search(GOLD, "any:thing", settings=SETTINGS).trust
    assert (by_name.n_asked_twice, by_name.n_same_answer) == (18, 0)
    assert by_name.sample.is_reopened
    # An object can only be asked as it is, which the run says.
    assert not run_search(GOLD, Cached(), settings=SETTINGS).trust.sample.is_reopened


def test_a_retriever_that_cannot_be_opened_again_gave_no_second_answer(monkeypatch):
    opened = count()

    def open_once(spec, options):
        if next(opened):
            raise OSError("gone")
        return Answers(lambda: ["a"])

    monkeypatch.setattr(measure, "open_retriever", open_once)
    run = run_search(GOLD, "any:thing", settings=SETTINGS)
    assert {query.second_answer for query in run.queries} == {"failed"}
    assert run.trust.is_deterministic is False


def test_an_allowed_failure_widens_the_numbers_and_is_never_left_out(tmp_path):
    class Some(Answers):
        def search(self, query, *, corpus, k):
            return {"text 0": ["a"], "text 1": []}.get(query)

    run = run_with(Some(None), max_failed=0.9)
    assert run.status.has_verdict
    first = run.metrics["P@1"]
    assert (first.value, first.n, first.not_computable["query_failed"]) == (0.5, 2, 16)
    # One answerable query failed: the mean over the three is 1/3 or 2/3.
    assert (first.failed_low, first.failed_high) == pytest.approx((1 / 3, 2 / 3))
    assert run.metrics["Judged@10"].failed_high == 1
    assert not run_with(Some(None), max_failed=0.88).status.has_verdict
    assert run_with(Some(None), max_failed=16 / 18).status.has_verdict
    # Where queries are paired, one that failed would be left out: such a run is on neither side.
    with pytest.raises(NothingToEvaluateError, match="16 of 18 queries failed, within the limit"):
        plan_update(tmp_path / "baseline.json", saved(run, tmp_path / "run.json"))
    with pytest.raises(NothingToEvaluateError, match="failed, within the limit"):
        noise([sound(), run], generated_at="2026-01-07T10:00:00Z", seed=1)
    for sides in (([run], [sound()]), ([sound()], [run])):
        assert check(*sides, shipped_thresholds(), today=DAY).verdict == "no_verdict"


@pytest.mark.parametrize("options", [{"max_failed": 1}, {"max_failed": -0.1}, {"ask_twice": -1}])
def test_limits_that_are_none_are_refused(options):
    with pytest.raises(BadInputError):
        run_with(Answers(lambda: ["a"]), **options)
    with pytest.raises(BadInputError):
        run_with(Answers(lambda: ["a"]), max_failed=math.nan)


def test_a_run_file_that_was_edited_is_asked_again(tmp_path):
    """Its trust block says that nothing failed; its answers say otherwise."""
    run = sound()
    twice = replace(run.queries[0], ranking=run.queries[0].ranking * 2)
    file = saved(replace(run, queries=(twice, *run.queries[1:])), tmp_path / "run.json")
    found = load_search_run(file)
    assert found.trust.problems == {"duplicate_documents": 1}
    assert not found.status.has_verdict
    assert {mean.value for mean in found.metrics.values()} == {None}
