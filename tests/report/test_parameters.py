from __future__ import annotations

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.report import assets
from retrieval_eval.report.loading import load_run, split_run_ids
from retrieval_eval.report.parameters import check, declared, of_notebook

CELL = """run_id: str = "demo"  # which run
k_values: list = [1, 3]  # cut-offs
seed: int = 7  # of everything
privacy: bool = False  # leave out
"""


def test_parameters_are_read_with_type_default_and_comment():
    known = declared(CELL)
    assert list(known) == ["run_id", "k_values", "seed", "privacy"]
    assert known["k_values"].default == [1, 3]
    assert known["seed"].meaning == "of everything"


def test_the_run_report_takes_the_promised_parameters():
    assert list(of_notebook(assets.notebook("run_report"))) == [
        "run_id",
        "runs_root",
        "benchmarks_root",
        "output_dir",
        "baseline_config",
        "mcp_config",
        "k_values",
        "seed",
        "privacy",
    ]


def test_fitting_values_pass():
    given = {"run_id": "x", "k_values": [1, 20], "seed": 3, "privacy": True}
    assert check(given, declared(CELL)) == given


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sead": 3}, "no parameter 'sead'; did you mean seed"),
        ({"zzzz": 3}, "did you mean"),
        ({"seed": "3"}, "'seed' is a whole number, not '3'"),
        ({"seed": True}, "whole number"),
        ({"seed": 3.0}, "whole number"),
        ({"privacy": 1}, "true or false"),
        ({"run_id": 3}, "text"),
        ({"k_values": []}, "one or more"),
        ({"k_values": [1, "3"]}, "whole number"),
        ({"k_values": (1, 3)}, "a list"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(given, message):
    with pytest.raises(BadInputError, match=message):
        check(given, declared(CELL))


def test_run_ids_may_be_several():
    assert split_run_ids("a, b,,c") == ["a", "b", "c"]
    with pytest.raises(BadInputError, match="no run id"):
        split_run_ids(" , ")


@pytest.mark.parametrize("bad", [{"k_values": "1,3"}, {"seed": "7"}, {"output_dir": 3}])
def test_the_loader_refuses_mistyped_values_too(bad, tmp_path):
    given = {"output_dir": tmp_path} | bad
    with pytest.raises(BadInputError):
        load_run("demo", **given)
