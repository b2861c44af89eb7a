"""Whatever names a study has, its design is written and read back as it was."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.agents.metrics.catalog import BY_NAME
from retrieval_eval.agents.study.stated import (
    Stated,
    StatedArm,
    stated_from,
    text_of,
)
from retrieval_eval.escape import encodable, made_visible

NAMES = st.one_of(
    st.text(st.characters(), max_size=12),
    st.sampled_from(
        ["", " ", "a.b", 'quo"te', "back\\slash", "li\nne", "\r\n", "# x", "a@b", "mcp"]
    ),
    st.sampled_from(["\ud800", "\x00", "\x7f", "\u202e", "]", "[arms]", "=", "'''", "x" * 3000]),
)
TOOLS = st.lists(NAMES.filter(bool), max_size=3, unique_by=encodable).map(tuple)
LEVELS = st.floats(0.0001, 0.4999)
SCALES = st.one_of(
    st.none(),
    st.tuples(st.floats(-1e6, 0), st.floats(1e-3, 1e6)),
)


@st.composite
def stated_arms(draw):
    tools = draw(TOOLS)
    cut = draw(st.integers(0, len(tools)))
    return StatedArm(
        role=draw(st.sampled_from([None, "control", "treatment", "unstated"])),
        must_use=tools[:cut],
        may_use=draw(st.sampled_from([None, ()])),
        must_not_use=tools[cut:],
    )


@st.composite
def statements(draw):
    return Stated(
        arms=draw(st.dictionaries(NAMES.map(encodable), stated_arms(), max_size=3)),
        cluster=draw(st.sampled_from([None, "repository", "suite", "task"])),
        missing=draw(st.sampled_from([None, "unknown", "failure"])),
        reward_scale=draw(st.dictionaries(NAMES.map(encodable), SCALES, max_size=3)),
        headline=draw(st.sampled_from([None, *BY_NAME])),
        margin=draw(st.one_of(st.none(), st.floats(1e-9, 1e9))),
        alpha=draw(st.one_of(st.none(), LEVELS)),
        family=draw(st.sampled_from([None, "stated_pair", "all_pairs"])),
        is_sequential=draw(st.sampled_from([None, True, False])),
    )


def plain(arm):
    return (
        arm.role,
        *(
            None if tools is None else tuple(map(encodable, tools))
            for tools in (arm.must_use, arm.may_use, arm.must_not_use)
        ),
    )


@given(statements())
def test_what_is_stated_is_read_back_from_its_text(stated):
    text = text_of(stated)
    text.encode()
    assert made_visible(shown := text.replace("\n", "")) == shown
    again = stated_from(text)
    assert {c: plain(arm) for c, arm in again.arms.items()} == {
        c: plain(arm) for c, arm in stated.arms.items()
    }
    assert again.values == stated.values
