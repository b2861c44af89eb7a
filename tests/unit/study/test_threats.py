"""The kinds of threats, and what each of them finds."""

from __future__ import annotations

from retrieval_eval.model.impact import Threat
from retrieval_eval.study.threats import THREATS


def test_every_kind_of_threat_has_a_title_a_meaning_and_a_place():
    for name, entry in THREATS.items():
        assert entry.title[0].isupper(), name
        assert not entry.meaning.endswith("."), name
    assert len({entry.gravity for entry in THREATS.values()}) == len(THREATS)
    assert "effect" in Threat.__struct_fields__
