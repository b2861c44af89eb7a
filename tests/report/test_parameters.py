from __future__ import annotations

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.report.execute import (
    check,
    check_cells,
    declared,
)
from retrieval_eval.report.loading import load_run, split_run_ids

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


INJECTED = "# Parameters\n"


def run_cells(*cells: str) -> None:
    """Execute cells as a kernel does, and check them from the last one."""
    values: dict[str, object] = {}
    for cell in cells:
        exec(cell, values)
    check_cells(["", *cells, "check_parameters()"], values)


@pytest.mark.parametrize(
    "cells",
    [
        (CELL,),
        (CELL, INJECTED + "run_id = 'mine'\nk_values = [2]\n"),
        (CELL, "# Injected Parameters\nrun_id = 'mine'\n"),
        (CELL, INJECTED),
        (CELL, "runid = 'mine'\n"),
        (CELL, INJECTED + "run_id = 'a'\n", "mine = 4", "other: int = 3"),
        (CELL + "mine = 3\n", INJECTED + "mine = 4\n"),
        (INJECTED + "run_id = 'a'\n",),
        ("before = 1", "# Parameters\n" + CELL),
        ("before = 1", "# Parameters\nmine = 3\n"),
    ],
    ids=[
        "nothing given",
        "papermill",
        "Quarto",
        "an empty cell",
        "a cell of the user's own",
        "work in between",
        "a parameter of the user's own",
        "no declarations",
        "declarations that begin alike, nothing given",
        "other assignments that begin alike, nothing given",
    ],
)
def test_a_notebook_whose_parameters_fit_goes_on(cells):
    run_cells(*cells)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("runid = 'mine'", "no parameter 'runid'; did you mean run_id"),
        ("run_id = 'mine'\nbasline = 'x'", "no parameter 'basline'"),
        ("privacy = 'yes'", "'privacy' is true or false, not 'yes'"),
        ("k_values = '1,3'", "'k_values' is a list"),
        ("seed = float('nan')", "'seed' is a whole number"),
        ("runid = run_id = 'mine'", "no parameter 'runid'"),
        ("runid, seed = 'mine', 3", "no parameter 'runid'"),
        ("run_id = 20260101", r"is text, not 20260101 \(papermill: -r in place of -p gives text\)"),
    ],
)
@pytest.mark.parametrize("comment", [INJECTED, "# Injected Parameters\n", "# parameters\n"])
def test_a_parameter_given_to_a_notebook_is_checked(given, message, comment):
    with pytest.raises(BadInputError, match=message):
        run_cells(CELL, comment + given)


def test_a_cell_that_is_no_python_is_passed_over():
    cells = ["", CELL, "%%bash\necho run_id", INJECTED + "runid = 'a'", "check_parameters()"]
    with pytest.raises(BadInputError, match="runid"):
        check_cells(cells, {"runid": "a"})


def test_an_error_shows_itself_in_a_notebook_as_its_sentence():
    error = BadInputError("no run id was given")
    assert error._render_traceback_() == ["BadInputError: no run id was given"]


def test_run_ids_may_be_several():
    assert split_run_ids("a, b,,c") == ["a", "b", "c"]
    with pytest.raises(BadInputError, match="no run id"):
        split_run_ids(" , ")


@pytest.mark.parametrize("bad", [{"k_values": "1,3"}, {"seed": "7"}, {"output_dir": 3}])
def test_the_loader_refuses_mistyped_values_too(bad, tmp_path):
    given = {"output_dir": tmp_path} | bad
    with pytest.raises(BadInputError):
        load_run("demo", **given)


def test_what_params_yml_says_of_the_page_is_no_parameter():
    given = '# Parameters\nnotebook = "run_report"\nrenderer = "embedded"\npdf = False\nseed = 3\n'
    values = {"notebook": "run_report", "renderer": "embedded", "pdf": False, "seed": 3}
    check_cells([CELL, given], values)
    with pytest.raises(BadInputError, match="no parameter 'notebok'"):
        check_cells([CELL, given.replace("notebook", "notebok")], {"notebok": "run_report"})
