from __future__ import annotations

import json
from collections import Counter

from tests.simulators.dice import Dice
from tests.simulators.search.claims import labelled_claims
from tests.simulators.search.documents import compose
from tests.simulators.search.drafts import KINDS, planted_drafts
from tests.simulators.search.model import SEED


def test_every_kind_of_draft_is_there_and_the_same_seed_gives_the_same():
    kinds = Counter(draft.kind for draft in planted_drafts())
    assert set(kinds) == {*KINDS, "refused", "answered"}
    assert min(kinds.values()) >= 5
    assert planted_drafts() == planted_drafts()
    assert planted_drafts(1) != planted_drafts()


def test_drafts_answer_questions_of_the_gold_set_from_its_documents(search_demo):
    rows = [json.loads(line) for line in search_demo.gold.read_text().splitlines()]
    gold = {row["id"]: row for row in rows}
    documents = {json.loads(line)["id"] for line in search_demo.corpus.read_text().splitlines()}
    drafts = [json.loads(line) for line in search_demo.drafts.read_text().splitlines()]
    assert len({draft["id"] for draft in drafts}) == len(drafts) > 100
    for draft in drafts:
        assert draft["id"] in gold
        assert set(draft["context"]) <= documents
        assert bool(draft["draft"]) != draft.get("refused", False)
        if draft.get("refused"):
            assert gold[draft["id"]]["answerable"] is False


def test_off_gold_context_is_not_labelled_relevant(search_demo):
    rows = [json.loads(line) for line in search_demo.gold.read_text().splitlines()]
    relevant = {row["id"]: {d for d, grade in row["relevant"].items() if grade} for row in rows}
    for draft in planted_drafts():
        if draft.kind == "off_gold":
            assert not relevant[draft.query] & set(draft.context)
        if draft.kind in {"grounded", "fabricated_number"}:
            assert set(draft.context) <= relevant[draft.query]


def test_a_fabricated_number_is_not_in_its_document():
    documents = {d.id: d for d in compose(Dice(SEED, "search").scoped("text")).documents}
    for draft in planted_drafts():
        if draft.kind == "fabricated_number":
            (wrong,) = draft.ungrounded
            assert wrong in draft.draft
            assert wrong not in documents[draft.context[0]].text


def test_labelled_claims_are_of_every_kind_and_belong_to_documents():
    claims = labelled_claims()
    assert set(Counter(claim.how for claim in claims)) == {"close", "free", "wrong", "other"}
    documents = {d.id for d in compose(Dice(SEED, "search").scoped("text")).documents}
    assert {claim.doc for claim in claims} <= documents
    assert all(claim.supported == (claim.how in {"close", "free"}) for claim in claims)
    assert not any("{" in claim.text and "/" not in claim.text for claim in claims)
