from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.run_files import read_search_run, run_bytes
from tests.searches import answer, gold_query, gold_set, run_of

RUN = run_of(gold_set(gold_query("q", {"x": 1})), [answer("q", ["x", "y"])])


def _with(place, value):
    document = json.loads(run_bytes(RUN))
    inner = document
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    return document


def test_a_run_that_was_written_is_read_again(tmp_path):
    (tmp_path / "run.json").write_bytes(run_bytes(RUN))
    assert read_search_run(tmp_path / "run.json") == RUN


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400])
@pytest.mark.parametrize(
    ("place", "pointer"),
    [
        (("queries", 0, "ranking", 1, "score"), "/queries/0/ranking/1/score"),
        (("metrics", "P@5", "ci_low"), "/metrics/P@5/ci_low"),
        (("run", "retriever", "facts"), "/run/retriever/facts/a~1b/0"),
    ],
)
def test_a_number_that_nobody_can_reckon_with_is_named(tmp_path, place, pointer, number):
    value = {"a/b": ["here"]} if place[-1] == "facts" else "here"
    text = json.dumps(_with(place, value)).replace('"here"', number)
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(BadInputError) as caught:
        read_search_run(tmp_path / "run.json")
    assert str(caught.value).endswith(
        f"run.json: not a valid search run: {pointer}: expected a finite number"
    )


@pytest.mark.parametrize("confidence", [-1, 0, 1, 95])
def test_a_confidence_is_a_share(tmp_path, confidence):
    document = _with(("run", "settings", "confidence"), confidence)
    (tmp_path / "run.json").write_text(json.dumps(document))
    with pytest.raises(BadInputError, match="/run/settings/confidence"):
        read_search_run(tmp_path / "run.json")


def test_a_name_that_no_file_can_have_is_no_file(tmp_path):
    with pytest.raises(BadInputError, match="no such file"):
        read_search_run(tmp_path / ("a" * 300))
