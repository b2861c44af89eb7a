"""The cause of a change is named first, and none where nothing changed.

`benchmarks/search_causes.py` does the same for many systems.
"""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise

import pytest

from benchmarks.planted import TRUTH, World, pair
from retrieval_eval.model import to_builtins
from retrieval_eval.schema import faults
from retrieval_eval.search.change import diff
from retrieval_eval.search.change.causes import MOST, causes
from retrieval_eval.search.change.diff_text import diff_markdown
from retrieval_eval.values import DEFAULT_SEED


@cache
def world():
    return World(7, n=80)


@pytest.mark.parametrize("name", TRUTH)
def test_what_was_planted_is_named_first(name):
    found = causes(*pair(world(), name))
    assert found, name
    assert (found[0].code, len(found) <= MOST) == (TRUTH[name], True), found
    for one in found:
        assert 0 < one.n <= one.n_of
        assert one.example in {query.row.id for query in world().queries}


@pytest.mark.parametrize("noise", [0.0, 0.1, 1.0])
def test_runs_of_one_system_have_no_cause(noise):
    runs = [world().run(noise=noise, varies=noise, luck=luck) for luck in range(3)]
    assert [causes(*two) for two in pairwise(runs)] == [(), ()]


def test_a_drop_below_chance_is_named_where_a_threshold_says_so():
    before, after = pair(world(), "one corpus ranked worse")
    few = sorted(query.id for query in after.queries)[:4]
    assert causes(before, after, within=few) == ()
    (found,) = causes(before, after, within=few, breached=["P@1"])
    assert found.code == "drop"
    assert found.sentence.startswith("P@1 by ")


def test_document_and_markdown_say_the_same():
    before, after = pair(world(), "a folder is gone")
    found = diff(before, after, seed=DEFAULT_SEED)
    assert found.causes == causes(before, after)
    assert faults(json.loads(json.dumps(to_builtins(found))), "search_diff") == []
    assert "What explains it, the most telling first" in diff_markdown(found)
