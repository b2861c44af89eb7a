from __future__ import annotations

import math

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.run.running import describe_retriever


class Says:
    def __init__(self, facts):
        self.facts = facts

    def describe(self):
        if isinstance(self.facts, Exception):
            raise self.facts
        return self.facts


def test_facts_are_what_json_makes_of_them():
    assert describe_retriever(Says({"name": "mine", "sizes": (1, 2)})) == {
        "name": "mine",
        "sizes": [1, 2],
    }
    assert describe_retriever(object()) == {}


@pytest.mark.parametrize(
    "facts", [None, ["name"], {"x": math.nan}, {"x": object()}, {("a",): 1}, KeyError("index")]
)
def test_facts_of_no_use_are_refused(facts):
    with pytest.raises(BadInputError, match="the retriever's describe\\(\\)"):
        describe_retriever(Says(facts))
