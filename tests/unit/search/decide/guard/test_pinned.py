from __future__ import annotations

import pytest
from msgspec import structs

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.search.gold.identity import (
    fingerprint,
    pinned_text,
    pinning_faults,
    read_pinned,
    sample,
)
from tests.searches import gold_query, gold_set

GOLD = gold_set(*(gold_query(name, {"d": 1}) for name in ("a", "b", "c", "d")))


def written(folder, text):
    path = folder / "pinned.txt"
    path.write_text(text)
    return path


def test_what_is_written_is_read(tmp_path):
    text = pinned_text(GOLD, ["c", "a", "c"])
    digest = fingerprint([GOLD.queries[0], GOLD.queries[2]])
    assert text == f"# gold-fingerprint: {digest}\na\nc\n"
    found = read_pinned(written(tmp_path, text))
    assert (found.ids, found.fingerprint) == (("a", "c"), digest)
    assert pinning_faults(found, GOLD, {"a", "b", "c"}) == []


def test_the_rest_of_the_gold_set_may_grow(tmp_path):
    pinned = read_pinned(written(tmp_path, pinned_text(GOLD, ["a", "b"])))
    grown = gold_set(*GOLD.queries, gold_query("e", {"d": 2}))
    assert pinning_faults(pinned, grown, {"a", "b"}) == []


def test_a_changed_label_or_query_unpins(tmp_path):
    pinned = read_pinned(written(tmp_path, pinned_text(GOLD, ["a", "b"])))
    for change in ({"relevant": {"d": 2}}, {"query": "another"}, {"corpus": "x"}):
        changed = gold_set(structs.replace(GOLD.queries[0], **change), *GOLD.queries[1:])
        (fault,) = pinning_faults(pinned, changed, {"a", "b"})
        assert "are no longer what they were" in fault
    (fault,) = pinning_faults(pinned, gold_set(*GOLD.queries[1:]), {"a", "b"})
    assert "are no longer" in fault


def test_queries_that_were_not_asked_and_a_gold_set_not_at_hand(tmp_path):
    pinned = read_pinned(written(tmp_path, pinned_text(GOLD, ["a", "b"])))
    missing, unknown = pinning_faults(pinned, None, {"b"})
    assert missing.startswith("1 of the 2 queries pinned in pinned.txt are not in the run")
    assert "'a'" in missing
    assert "without the gold set" in unknown


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a\nb\n", "lacks the line '# gold-fingerprint: "),
        ("# gold-fingerprint: " + "0" * 63 + "\na\n", "lacks the line"),
        ("# gold-fingerprint: " + "0" * 64 + "\n\n# nothing\n", "names no query"),
        ("# gold-fingerprint: " + "0" * 64 + "\na\nb\n a\n", "line 4: 'a' is pinned on line 2"),
    ],
)
def test_a_list_that_pins_nothing_is_refused(tmp_path, text, fault):
    with pytest.raises(BadInputError) as caught:
        read_pinned(written(tmp_path, text))
    assert fault in str(caught.value)


def test_a_list_that_is_not_there(tmp_path):
    with pytest.raises(BadInputError, match="search guard --init --pin N"):
        read_pinned(tmp_path / "none.txt")


def test_ids_that_cannot_be_pinned():
    with pytest.raises(BadInputError, match="no query 'z'"):
        pinned_text(GOLD, ["z"])
    with pytest.raises(NothingToEvaluateError):
        pinned_text(GOLD, [])
    for name in ("#a", " a", "a\nb", "a\u2028b"):
        with pytest.raises(BadInputError, match="cannot be pinned"):
            pinned_text(gold_set(gold_query(name)), [name])


def test_a_sample_is_that_of_its_seed():
    first = sample(GOLD, 2, seed=1)
    assert len(set(first)) == 2
    assert first == sample(gold_set(*reversed(GOLD.queries)), 2, seed=1)
    assert len({tuple(sample(GOLD, 2, seed=seed)) for seed in range(20)}) > 1
    assert sample(GOLD, 4, seed=1) == ["a", "b", "c", "d"]
    with pytest.raises(BadInputError, match="4 queries, and 5"):
        sample(GOLD, 5, seed=1)
