from __future__ import annotations

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.gold.pseudonyms import Entity, PseudonymMapping, new_mapping


def _numbers(start, stop):
    return [("room", str(number)) for number in range(start, stop)]


@pytest.mark.parametrize("key", [bytes([n]) * 32 for n in range(5)])
def test_stand_ins_differ_and_avoid_originals_where_room_is_scarce(key):
    # Of the 90 numbers of two digits, 30 are taken, so 60 are left for 30.
    mapping = PseudonymMapping(key)
    mapping.add_identifiers(_numbers(10, 40))
    drawn = set(mapping.identifiers.values())
    assert len(drawn) == 30
    assert drawn <= {str(number) for number in range(40, 100)}


def test_too_little_room_is_said():
    with pytest.raises(BadInputError, match="no stand-in is left"):
        new_mapping().add_identifiers(_numbers(10, 60))


def test_the_order_of_finds_does_not_matter():
    one, two = PseudonymMapping(bytes(32)), PseudonymMapping(bytes(32))
    one.add_identifiers(_numbers(10, 30))
    two.add_identifiers(_numbers(10, 30)[::-1])
    assert one.identifiers == two.identifiers


def test_texts_that_are_pseudonymised_already_are_noticed():
    mapping = PseudonymMapping(bytes(32))
    mapping.add_identifiers([("account", "12345678")])
    (stand_in,) = mapping.identifiers.values()
    with pytest.raises(BadInputError, match="pseudonymised already"):
        mapping.add_identifiers([("account", stand_in)])


def test_entities_are_not_merged_behind_the_back():
    mapping = PseudonymMapping(bytes(32))
    mapping.add_entities([Entity("x", ("Ardent",), (False,)), Entity("x", ("Bolder",), (False,))])
    with pytest.raises(BadInputError, match="different entities"):
        mapping.add_entities([Entity("x", ("Ardent", "Bolder"), (False, False))])


def test_keys_are_random():
    assert new_mapping().key != new_mapping().key
    assert len(new_mapping().key) == 32
