"""What single figures and tables draw and print, and how a figure reaches a page."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pandas as pd
import pytest

import retrieval_eval as rev
from retrieval_eval.errors import BadInputError
from retrieval_eval.report import style
from retrieval_eval.report.exhibits import Table
from retrieval_eval.report.show import print_image


def trials(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"config_name": ["base", "base", "other", "other"], **columns})


RECALL = trials(file_recall=[0.0, 0.5, 0.5, 1.0])


def shown_table(exhibit) -> Table:
    (table,) = exhibit.block().exhibits
    assert isinstance(table, Table)
    return table


def images(page: str) -> list[str]:
    """Return the SVG texts of the figures of a page."""
    return [unquote(u).replace("'", '"') for u in re.findall(r'data:image/svg\+xml,([^"]+)"', page)]


def test_a_figure_has_a_narrow_form_with_the_same_words():
    page = rev.plot.ecdf(RECALL, "file_recall")._repr_html_()
    narrow, wide = images(page)
    assert f'viewBox="0 0 {style.WIDTH * 72:g} ' in wide
    assert f'viewBox="0 0 {style.NARROW * 72:g} ' in narrow
    for svg in (narrow, wide):
        assert "File recall" in svg
        assert "base (n = 2)" in svg
    (source,) = re.findall(r"<source [^>]*>", page)
    assert "max-width: 600px" in source
    assert " " not in re.findall(r'srcset="([^"]*)"', source)[0], "a space ends an address"


def test_colours_of_the_theme_follow_a_dark_page_and_others_stay():
    drawn = rev.plot.ecdf(RECALL, "file_recall")
    drawn.ax.axvline(0.5, color="#123456")
    for svg in images(drawn._repr_html_()):
        assert "prefers-color-scheme:dark" in svg
        styled = re.findall(r"(?:fill|stroke):(?!none)([^;\"]+)", svg.partition("</style>")[2])
        plain = {color for color in styled if not color.startswith("var(")}
        assert plain <= {"#123456"}


def test_print_gets_one_size_and_plain_colours():
    page = print_image(rev.plot.ecdf(RECALL, "file_recall")._repr_html_())
    (svg,) = images(page)
    assert "var(" not in svg
    assert "prefers-color-scheme" not in svg
    assert style.MARKS[0].color.lower() in svg.lower()


def test_values_that_rest_on_too_little_are_neither_drawn_nor_printed():
    cells = pd.DataFrame(
        {
            "suite": ["s", "s", "t", "t"],
            "size": ["small", "large", "small", "large"],
            "difference": [0.11, 0.91, -0.2, 0.3],
            "low": 0.01,
            "high": 0.99,
            "n": [9, 4, 9, 9],
        }
    )
    drawn = rev.plot.forest(cells, ["suite", "size"], "difference", "low", "high", n="n")
    assert "0.11" in drawn.svg()
    for text in (drawn.svg(), drawn._repr_html_(), drawn.alt):
        assert "0.91" not in text
    assert "n = 4" in drawn.svg()
    assert "fewer than 5" in drawn.caption
    drawn = rev.plot.forest(cells.assign(n=2), "suite", "difference", "low", "high", n="n")
    assert drawn.nothing.endswith(" rests on 5 or more, so that none can be interpreted.")


def test_long_data_of_a_figure_are_cut_on_the_page_only():
    names = [f"t{i}" for i in range(600)]
    sides = {"baseline": 0.0, "comparison": 1.0, "difference": 1.0}
    drawn = rev.plot.paired(pd.DataFrame({"task_name": names, "metric": "mrr", **sides}), "mrr")
    assert len(drawn.data) == 600
    (figure,) = drawn.block().exhibits
    assert len(figure.data.rows) == 500
    assert figure.data.notes == ("The first 500 of 600 rows.",)


def test_a_table_is_headed_and_printed_as_its_columns_are_declared():
    frame = pd.DataFrame(
        {
            "benchmark": ["s"],
            "ndcg@10": [0.125],
            "cost_usd": [1.5],
            "total_tokens": [12345.0],
            "p_holm": [0.0001],
            "mean_difference": [-0.5],
            "never_hit": [True],
            "repositories": [["a", "b"]],
            "my_P": [3.0],
            "other": [None],
        }
    )
    table = shown_table(rev.table.show(frame))
    assert table.header == (
        *("Suite", "nDCG@10", "Cost (USD)", "Tokens", "p (Holm)", "Mean difference"),
        *("Never hit", "Repositories", "my_P", "other"),
    )
    assert table.rows == (
        ("s", "0.12", "1.50", "12,345", "< 0.001", "−0.50", "yes", "a, b", "3", "—"),
    )
    assert table.align[:2] == ("left", "right")


def test_what_a_table_cannot_show_is_said_in_a_sentence():
    frame = pd.DataFrame({"task_name": ["t"], "mrr": [0.5]})
    with pytest.raises(BadInputError, match="'rates' of column mrr is no format; did you mean 'ra"):
        rev.table.show(frame, formats={"mrr": "rates"})
    with pytest.raises(BadInputError, match="formats names 'mmr', which is not shown; shown are"):
        rev.table.show(frame, formats={"mmr": "rate"})
    with pytest.raises(BadInputError, match="no column 'task'; it has task_name"):
        rev.table.show(frame, ["task"])
    with pytest.raises(BadInputError, match=r"table\.show: got an unexpected keyword argument"):
        rev.table.show(frame, colums=["mrr"])
    with pytest.raises(BadInputError, match="takes no axes"):
        rev.table.show(frame, ax=1)
