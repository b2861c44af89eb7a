"""Whatever names a study has, its design is written and read back as it was."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval_eval.escape import encodable, made_visible
from retrieval_eval.metrics.catalog import BY_NAME
from retrieval_eval.model.design import ArmDesign, Design
from retrieval_eval.study.compare import compare
from retrieval_eval.study.design import design_of
from retrieval_eval.study.stated import Stated, StatedArm, stated_from, toml_of, toml_of_design
from retrieval_eval.study.trials import trials_of
from tests.studies import document

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
@settings(max_examples=150, deadline=None)
def test_what_is_stated_is_read_back_from_its_text(stated):
    text = toml_of(stated)
    text.encode()
    assert made_visible(shown := text.replace("\n", "")) == shown
    again = stated_from(text)
    assert {c: plain(arm) for c, arm in again.arms.items()} == {
        c: plain(arm) for c, arm in stated.arms.items()
    }
    assert again.values == stated.values


@given(statements(), st.lists(NAMES, min_size=2, max_size=2, unique_by=encodable))
@settings(max_examples=100, deadline=None)
def test_a_design_is_read_back_from_its_file(tmp_path_factory, stated, names):
    design = Design(
        arms=tuple(ArmDesign(config_name=n, must_use=(n,) if n else ()) for n in names),
        unit="task",
        cluster=stated.cluster or "task",
        missing=stated.missing or "unknown",
        reward_scale=stated.reward_scale,
        headline=stated.headline or "file_recall",
        margin=stated.margin,
        alpha=stated.alpha or 0.05,
        family=stated.family or "stated_pair",
        is_sequential=bool(stated.is_sequential),
        sources={"baseline": "inferred: \x1b[31m\n# [arms]", "comparison": names[0]},
    )
    path = tmp_path_factory.mktemp("design") / "study.toml"
    path.write_text(toml_of_design(design), encoding="utf-8")
    again = stated_from(path)
    assert list(again.arms) == list(map(encodable, names))
    for name in ("cluster", "missing", "headline", "margin", "alpha", "family", "is_sequential"):
        assert getattr(again, name) == getattr(design, name)
    assert again.reward_scale == design.reward_scale


@given(
    st.lists(NAMES, min_size=2, max_size=2, unique_by=encodable),
    NAMES,
    st.lists(st.booleans(), min_size=6, max_size=6),
)
@settings(max_examples=40, deadline=None)
def test_an_inferred_design_that_was_written_gives_the_same_comparison(configs, suite, used):
    rows = [
        document(
            f"t{i}",
            config,
            0.3 + i / 20,
            mcp=2 * (config == configs[1] and used[i]),
            benchmark=suite,
            tools={"Read": (3, 3)},
        )
        for i in range(6)
        for config in configs
    ]
    made = design_of(trials_of(rows), *configs)
    text = toml_of_design(made)
    again = design_of(trials_of(rows), *configs, text)
    assert {n: getattr(again, n) for n in made.__struct_fields__ if n != "sources"} == {
        n: getattr(made, n) for n in made.__struct_fields__ if n != "sources"
    }
    first, second = (compare(rows, *configs, n_resamples=50, design=d) for d in (None, text))
    assert first.record.gate.failed == second.record.gate.failed
    assert first.record.metrics == second.record.metrics
