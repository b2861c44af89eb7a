"""The page of other tools shows the data, and this package's rows are what it gives."""

from __future__ import annotations

import json

import pytest

from benchmarks import other_tools


def test_the_page_shows_what_was_measured():
    document = json.loads(other_tools.DATA.read_text("utf-8"))
    assert list(document["tools"]) == list(other_tools.TOOLS)
    shown = other_tools.PAGE.read_text("utf-8").partition(other_tools.BEGIN)[2]
    shown = shown.partition(other_tools.END)[0]
    assert shown.strip() == other_tools.page_of(document)


@pytest.mark.parametrize("convention", ["trec", "trec9"])
def test_our_own_numbers_are_those_of_the_page(convention):
    document = json.loads(other_tools.DATA.read_text("utf-8"))
    stated = document["tools"][f"this package, `{convention}`"]["values"]
    for name, values in other_tools.ours(convention)().items():
        assert stated[name] == pytest.approx(values, abs=1e-6)
