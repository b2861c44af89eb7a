from __future__ import annotations

import csv
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import yaml

from retrieval_eval.errors import BadInputError, RenderError
from retrieval_eval.io.locks import alone
from retrieval_eval.report import notebook_files, publishing
from retrieval_eval.report.execute import of_notebook
from retrieval_eval.report.exhibits import Block, Figure, Table
from retrieval_eval.report.publishing import publish, write_figure_data, write_frame
from retrieval_eval.report.registered import plot


def test_no_text_of_a_cell_starts_a_row(tmp_path):
    names = ["a\rb", "c\nd", 'e","f', "g\r\nh"]
    frame = pd.DataFrame({"name": names, "n": range(4)})
    assert write_frame("names", "one row a name", frame, tmp_path) == (
        "names.csv",
        "one row a name",
    )
    with (tmp_path / "names.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))
    assert rows == [["name", "n"], *([name, str(n)] for n, name in enumerate(names))]


def notebook_of(*shown) -> nbformat.NotebookNode:
    """An executed notebook whose cells show these objects."""
    cells = [nbformat.v4.new_markdown_cell("# Made")]
    for item in shown:
        cell = nbformat.v4.new_code_cell("shown")
        cell.outputs = [nbformat.v4.new_output("display_data", item._repr_mimebundle_())]
        cells.append(cell)
    return nbformat.v4.new_notebook(cells=cells)


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


FRAME = pd.DataFrame(
    {"config_name": ["a", "a", "b", "b"], "file_recall": [1 / 3, 1.0, 0.25, None]}, dtype=object
)


def test_the_data_of_a_figure_is_written_as_it_was_before_it_was_rounded(tmp_path):
    shown = plot.ecdf(FRAME, "file_recall", key="recall")
    files = write_figure_data(notebook_of(shown), tmp_path)
    assert files == [("figures/recall.csv", "data of [a figure](#fig-recall)")]
    header, *rows = rows_of(tmp_path / "figures" / "recall.csv")
    assert header == list(shown.data.columns)
    assert len(rows) == len(shown.data)
    assert "0.6666666666666666" in rows[0]  # mean


def test_figures_of_simulated_data_say_so_in_every_row(tmp_path):
    shown = plot.ecdf(FRAME, "file_recall", key="recall")
    write_figure_data(notebook_of(shown), tmp_path, is_simulated=True)
    header, *rows = rows_of(tmp_path / "figures" / "recall.csv")
    assert header[0] == "simulated_data"
    assert {row[0] for row in rows} == {"true"}


def test_hostile_text_in_the_data_of_a_figure_stays_text(tmp_path):
    hostile = ("=cmd|' /C calc'!A0", "one\ntwo\u202e", "lone \ud800", '","')
    table = Table("d", "Data", ("name", "n"), tuple((name, "1") for name in hostile))
    shown = Block("section", exhibits=(Figure("../x y", "<svg/>", "alt", "caption", table),))
    ((name, _),) = write_figure_data(notebook_of(shown), tmp_path)
    assert name == "figures/x_y.csv"
    assert [row[0] for row in rows_of(tmp_path / name)[1:]] == [
        "'=cmd|' /C calc'!A0",
        "one two\\u005cu202e",
        "lone \\u005cud800",
        '","',
    ]


def test_two_figures_with_one_key_are_refused(tmp_path):
    shown = plot.ecdf(FRAME, "file_recall")
    with pytest.raises(RenderError, match="two figures have the key 'ecdf-file_recall'"):
        write_figure_data(notebook_of(shown, shown), tmp_path)


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A function that publishes without a kernel, and the list of what was executed."""
    executed = []

    def execute(source, target, values, **_):
        executed.append(values)
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook_of(Block("answer", "It helped", ("Somewhat.",))), target)

    monkeypatch.setattr(publishing, "execute", execute)

    def make(values=None, **given) -> Path:
        values = {"run_id": "a"} if values is None else values
        return publish("run_report", values, tmp_path / "r", title="Made", **given)

    return make, executed


def test_every_parameter_is_recorded_also_those_by_default(made):
    make, _ = made
    page = make({"run_id": "no", "seed": 3})
    text = page.with_name("params.yml").read_text(encoding="utf-8")
    assert text.startswith("# This page again: papermill")
    found = yaml.safe_load(text)
    known = of_notebook(notebook_files.notebook("run_report"))
    assert list(found) == ["notebook", "renderer", "pdf", *known]
    assert found["notebook"] == "run_report"
    assert (found["renderer"], found["pdf"]) == ("embedded", False)
    assert (found["run_id"], found["seed"]) == ("no", 3)
    assert found["k_values"] == known["k_values"].default


def test_versions_are_recorded_with_digests_of_inputs_and_code(made):
    make, _ = made
    rows = dict(rows_of(make(inputs="sha256 abc").with_name("versions.csv")))
    assert {"retrieval-evidence", "Python", "numpy", "papermill"} <= set(rows)
    assert rows["inputs"] == "sha256 abc"
    assert len(rows["code"]) == len("sha256 ") + 64


def test_a_page_is_current_as_long_as_nothing_changed(made):
    make, executed = made
    asked = []

    def keep(page, is_current):
        asked.append(is_current)
        return is_current

    page = make(inputs="x", keep=keep)
    text = page.read_bytes()
    assert make(inputs="x", keep=keep) == page
    assert (asked, len(executed)) == ([False, True], 1)
    assert page.read_bytes() == text
    make(inputs="y", keep=keep)
    make({"run_id": "b"}, inputs="y", keep=keep)
    page.unlink()
    make({"run_id": "b"}, inputs="y", keep=keep)
    assert (asked, len(executed)) == ([False, True, False, False, False], 4)


def test_without_a_digest_of_its_inputs_no_page_is_current(made):
    make, executed = made
    make(keep=lambda _, is_current: is_current)
    make(keep=lambda _, is_current: is_current)
    assert len(executed) == 2


def test_one_process_at_a_time_makes_a_page(made, tmp_path):
    make, executed = made
    with (
        alone(tmp_path / "r/index.html", "makes this page"),
        pytest.raises(BadInputError, match="another process makes this page now"),
    ):
        make()
    assert executed == []
    assert not (tmp_path / "r").exists()


def test_a_page_without_the_print_that_is_wanted_is_not_current(made, monkeypatch):
    monkeypatch.setattr(publishing, "to_pdf", lambda _: b"pdf")
    make, executed = made
    page = make(inputs="x", pdf=True)
    make(inputs="x", pdf=True, keep=lambda _, is_current: is_current)
    assert len(executed) == 1
    page.with_name("report.pdf").unlink()
    make(inputs="x", pdf=True, keep=lambda _, is_current: is_current)
    assert len(executed) == 2


HARMS = (
    lambda page: page.write_bytes(page.read_bytes()[:-20]),
    lambda page: page.write_bytes(b""),
    lambda page: page.write_text("another page"),
    lambda page: page.with_name("versions.csv").write_text("name,version"),
    lambda page: page.with_name("run_report.ipynb").unlink(),
)


def test_a_page_that_is_not_whole_is_made_again(made):
    make, executed = made
    kept = {"inputs": "x", "keep": lambda _, is_current: is_current}
    page = make(**kept)
    text = page.read_bytes()
    for number, harm in enumerate(HARMS, 2):
        harm(page)
        make(**kept)
        assert len(executed) == number
        assert page.read_bytes() == text
    make(**kept)
    assert len(executed) == len(HARMS) + 1
