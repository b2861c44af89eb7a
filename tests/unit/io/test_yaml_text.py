from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.yaml_text import read_yaml, yaml_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("-2", -2),
        ("1.5", 1.5),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("2026-07-01", "2026-07-01"),
        ("no", "no"),
        ("on", "on"),
        ("010", "010"),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("0x1f", "0x1f"),
        (".inf", ".inf"),
        ("'1'", "1"),
        ("[1, a]", [1, "a"]),
    ],
)
def test_only_the_types_of_json_are_known(text, value):
    found = read_yaml(f"a: {text}", "x.yml")["a"]
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "x.yml: line 1, column 5"),
        ("a: 1\nb: 2\na: 3", "x.yml: line 3, column 1: the key 'a' is there twice"),
        ("1: a", "a key is text"),
        ("[a]: b", "a key is text"),
        ("a: !!python/object/apply:os.system [id]", "line 1, column 4: could not determine"),
        ("a: !!binary aGk=", "could not determine"),
        ("a: !!timestamp 2026-07-01", "could not determine"),
        ("a: !!int x", "not YAML"),
        ("a: \x00", "not YAML"),
        ("[" * 5_000, "nested too deeply"),
        ("a" * 1_000_001, "longer than"),
        ("a: 1\n---\nb: 2", "found another document"),
        ("a: *b", "undefined alias"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(text, message):
    with pytest.raises(BadInputError) as caught:
        read_yaml(text, "x.yml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_default_can_be_merged():
    text = "base: &base {a: 1, b: 2}\none: {<<: *base, b: 3}"
    assert read_yaml(text, "x.yml")["one"] == {"a": 1, "b": 3}


def doubling(levels, line):
    return "\n".join(["a0: &a0 {k: 1, l: 2}", *(line.format(n, n - 1) for n in range(1, levels))])


EXPANDING = {
    "merge keys": doubling(40, "a{0}: &a{0} {{<<: [*a{1}, *a{1}]}}"),
    "merge keys of two": doubling(200, "a{0}: &a{0} {{<<: [*a{1}, *a{1}], k{0}: 1}}"),
    "aliases in lists": doubling(40, "a{0}: &a{0} [*a{1}, *a{1}]"),
    "aliases in mappings": doubling(40, "a{0}: &a{0} {{x: *a{1}, y: *a{1}}}"),
    "many aliases of one large value": "a: &a {k: ["
    + "1, " * 5_000
    + "1]}\nb: ["
    + "*a, " * 5_000
    + "1]",
    "itself in a list": "a: &a [*a]",
    "itself in a mapping": "a: &a {b: {c: *a}}",
    "itself as a merge": "a: &a {<<: *a}",
}


@pytest.mark.parametrize("text", EXPANDING.values(), ids=EXPANDING)
def test_aliases_and_merge_keys_cannot_expand_without_bound(text):
    with pytest.raises(BadInputError, match=r"once its aliases|an alias stands inside"):
        read_yaml(text, "x.yml")


plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
scalars = plain | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)


@given(st.dictionaries(plain, scalars | st.lists(scalars)))
def test_what_is_written_is_read_again(values):
    assert read_yaml(yaml_text(values), "x.yml") == values
