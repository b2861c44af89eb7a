"""Every figure and table that notebooks call by name keeps its promises, whatever the frame."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from importlib.metadata import EntryPoint

import matplotlib.pyplot as plt
import pandas as pd
import pytest

import retrieval_eval as rev
from retrieval_eval import registry
from retrieval_eval.errors import BadInputError
from retrieval_eval.report.registered import (
    FIGURES,
    TABLES,
    Exhibit,
    Namespace,
    NothingToShow,
    Words,
    figure,
)
from retrieval_eval.report.show import to_html

EVIL = "<script>&|`\u202e\ud800 任务"
NAMES = [EVIL, *(f"group-{i}" for i in range(7))]
ARGUMENTS = {"means": (["file_recall", "cost_usd"],), "describe": (["file_recall", "cost_usd"],)}
EACH_FIGURE = pytest.mark.parametrize("name", list(FIGURES))
EACH = pytest.mark.parametrize("name", [*FIGURES, *TABLES])


def rows(n_groups: int, n_each: int = 5, *, has_values: bool = True) -> pd.DataFrame:
    """Return a frame that every entry can show: trials, with the columns of pairs beside."""
    made = [
        {
            "config_name": NAMES[g],
            "task_name": f"{NAMES[g]} {i}",
            "metric": "file_recall",
            "file_recall": ((g + i) % 5) / 4 if has_values and i != 3 else None,
            "cost_usd": 1.5 * i if has_values else None,
            "baseline": 0.5 if has_values else None,
            "comparison": 0.25 * (i % 5) if has_values else None,
            "difference": 0.25 * (i % 5) - 0.5 if has_values else None,
        }
        for g in range(n_groups)
        for i in range(n_each)
    ]
    columns = (
        *("config_name", "task_name", "metric"),
        *("file_recall", "cost_usd", "baseline", "comparison", "difference"),
    )
    texts = columns[:3]
    return pd.DataFrame(
        {
            c: pd.Series([r[c] for r in made], dtype="object" if c in texts else "float64")
            for c in columns
        }
    )


def shown(name: str, frame: pd.DataFrame, **options: object) -> Exhibit:
    entries = FIGURES if name in FIGURES else TABLES
    return entries[name](frame, *ARGUMENTS.get(name, ("file_recall",)), **options)


@EACH
@pytest.mark.parametrize(("n_groups", "n_each"), [(1, 1), (1, 5), (2, 5), (8, 5)])
def test_it_shows_what_the_frame_holds(name, n_groups, n_each):
    exhibit = shown(name, rows(n_groups, n_each))
    assert not exhibit.nothing
    assert re.search(r"\d", exhibit.finding)
    assert not exhibit.finding.endswith(".")
    assert exhibit.caption
    assert len(exhibit.data)
    page = to_html(exhibit.block())
    assert page == exhibit._repr_html_()
    assert "<script>" not in page
    assert "\ud800" not in page
    if name in FIGURES:
        assert len(exhibit.alt) > 40
        assert re.search(r"\d", exhibit.alt), "the alternative text gives main numbers"
        assert exhibit.ax is not None
        assert exhibit.ax.get_figure() is exhibit.figure
        ET.fromstring(exhibit.svg())


@EACH
def test_an_empty_frame_and_one_without_values_say_why_there_is_nothing(name):
    for frame in (rows(0), rows(2, has_values=False)):
        exhibit = shown(name, frame)
        if name in TABLES and len(frame):
            assert exhibit.cells is not None
            assert "—" in str(exhibit.cells), "a table shows what is missing"
            continue
        assert exhibit.nothing.endswith(".")
        assert exhibit.ax is None
        assert exhibit.nothing.rstrip(".") in exhibit.finding
        assert 'class="empty"' in exhibit._repr_html_()


@EACH
def test_what_it_says_follows_the_frame(name):
    frame = rows(2)
    part = frame[frame["config_name"] == NAMES[1]]
    whole, cut = shown(name, frame), shown(name, part)
    assert whole.finding != cut.finding
    assert whole.caption != cut.caption
    assert not cut.data.equals(whole.data)


@EACH_FIGURE
def test_the_same_frame_gives_the_same_bytes(name):
    assert shown(name, rows(2)).svg() == shown(name, rows(2)).svg()


@EACH_FIGURE
def test_an_edit_of_the_axes_is_in_the_page(name):
    exhibit = shown(name, rows(2))
    exhibit.ax.set_title("added by hand")
    assert "added by hand" in exhibit.svg()


@EACH_FIGURE
def test_it_draws_on_given_axes_and_leaves_no_canvas_open(name):
    _, (left, right) = plt.subplots(1, 2)
    exhibit = shown(name, rows(2), ax=right)
    assert exhibit.ax is right
    assert not left.has_data()
    exhibit._repr_html_()
    assert not plt.get_fignums()


@EACH
def test_words_and_key_can_be_given(name):
    exhibit = shown(name, rows(2), key="mine", finding="My finding", caption="My caption")
    assert (exhibit.key, exhibit.finding, exhibit.caption) == ("mine", "My finding", "My caption")


@EACH
def test_a_column_that_is_not_there_is_named_with_the_closest(name):
    frame = rows(2).rename(columns={"file_recall": "file_recal", "difference": "diference"})
    with pytest.raises(BadInputError, match=r"no column '(file_recall|difference)'; it has "):
        shown(name, frame)
    with pytest.raises(BadInputError, match="expected a data frame, not list"):
        shown(name, [1])


def test_missing_and_odd_values_are_left_out_and_counted():
    frame = pd.DataFrame({"config_name": ["a"] * 5, "x": [1, None, float("inf"), True, "2"]})
    drawn = rev.plot.ecdf(frame, "x")
    assert drawn.data["n"].tolist() == [1]
    assert "1 of 5 rows" in drawn.caption


def test_groups_of_several_columns_and_of_none():
    frame = rows(2)
    both = rev.plot.bars(frame, "cost_usd", by=["config_name", "metric"])
    assert both.data["group"].tolist() == [f"{NAMES[i]} · file_recall" for i in range(2)]
    assert rev.plot.bars(frame, "cost_usd", by=None).data["group"].tolist() == ["all"]


def test_entries_are_found_by_attribute():
    assert set(dir(rev.plot)) >= {"ecdf", "paired", "strip", "bars"}
    assert set(dir(rev.table)) >= {"means", "describe"}
    assert rev.plot.ecdf is FIGURES["ecdf"]
    with pytest.raises(AttributeError, match="'ecdff' is no figure; did you mean 'ecdf'"):
        rev.plot.ecdff  # noqa: B018


def test_a_figure_of_another_distribution_is_found_by_its_name(monkeypatch):
    point = EntryPoint("rings", f"{__name__}:rings", "retrieval_eval.figures")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point])
    others = registry.Registry("retrieval_eval.figures", "figure")
    assert Namespace(others, "").rings(rows(1)).nothing == "There are no rings."


@figure("rings")
def rings(ax, frame) -> Words:
    """Draw nothing."""
    raise NothingToShow("There are no rings.")


FIGURES._entries.pop("rings")
