"""What a user states of a design: files, mappings, faults in them, and what they change."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.study import associate, compare
from retrieval_eval.agents.study.stated import stated_from, text_of
from retrieval_eval.agents.study.trials import from_frame, trials_of
from retrieval_eval.errors import BadInputError
from tests.studies import document, frame_of, impact_document, study

ARMS = ("baseline", "mcp")


def uses(config, used, *, gain=0.0, **fields):
    """Return an arm of twelve trials; ``used`` is a tool to the trials that called and used it."""
    rows = []
    for i in range(12):
        tools = {"Bash": (5, 5)} | {
            tool: (2, 2 * (i < n_used)) for tool, (n_called, n_used) in used.items() if i < n_called
        }
        value = 0.3 + i / 50 + gain + gain * (i % 2) / 10
        rows.append(document(f"t{i:02}", config, value, tools=tools, **fields))
    return rows


def rule(found, name):
    return next(r for r in found.record.gate.rules if r.name == name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("aplha = 0.1", "study.toml: unknown key 'aplha'; closest: alpha"),
        ("alpha = 0.5", "study.toml: alpha: expected `float` < 0.5"),
        ("alpha = 0", "alpha: expected `float` > 0.0"),
        ("alpha = true", "alpha: expected `float | null`, got `bool`"),
        ("alpha = nan", "alpha: expected `float` > 0.0"),
        ("margin = 0.0", "margin: expected `float` > 0.0"),
        ("margin = -1", "margin: expected `float` > 0.0"),
        ("margin = inf", "margin: expected `float` <= 1e+300"),
        ("margin = '0.1'", "margin: expected `float | null`, got `str`"),
        (
            "cluster = 'repo'",
            "cluster: invalid enum value 'repo'; there are: repository,",
        ),
        ("missing = 0", "got `int`; there are: unknown, failure"),
        ("family = 'one'", "'one'; there are: stated_pair, all_pairs"),
        ("is_sequential = 1", "is_sequential: expected `bool | null`, got `int`"),
        ("unit = 'trial'", "unit: invalid enum value 'trial'; there are: task"),
        ("headline = 'recal@10'", "headline: 'recal@10' is no metric; closest: recall@10"),
        ("headline = 1", "headline: expected `str | null`, got `int`"),
        ("arms = 1", "arms: expected `object`, got `int`"),
        ("[arms]\nmcp = 1", "arms.mcp: expected `object`, got `int`"),
        (
            "[arms.mcp]\nrole = 'user'",
            "arms.mcp: role: invalid enum value 'user'; there",
        ),
        ("[arms.mcp]\nmust_uze = []", "arms.mcp: unknown key 'must_uze'; closest: must_use"),
        ("[arms.mcp]\nmust_use = 'mcp'", "arms.mcp: must_use: expected `array | null`"),
        ("[arms.mcp]\nmust_use = [1]", "arms.mcp: must_use[0]: expected `str`, got `int`"),
        (
            "[arms.mcp]\nmust_use = ['mcp']\nmust_not_use = ['mcp']",
            "arms.mcp: 'mcp' is in must_use and in must_not_use",
        ),
        ("[reward_scale]\nsuite = 1", "reward_scale.suite: expected `array | null`, got `int`"),
        ("[reward_scale]\nsuite = [1, 0]", "reward_scale.suite: expected [lowest, highest]"),
        (
            "[reward_scale]\nsuite = [0, nan]",
            "reward_scale.suite: [1]: expected `float` >=",
        ),
        (
            "[reward_scale]\nsuite = [0, 'x']",
            "reward_scale.suite: [1]: expected `float`, got",
        ),
        (f"margin = {'9' * 400}", "margin: number out of range"),
        ("alpha = ", "study.toml: not valid TOML"),
        ("x = " + "[" * 5000, "study.toml: not valid TOML"),
        ("[arms.mpc]\nrole = 'control'", "no configuration 'mpc'; closest: mcp"),
        ("[arms.mcp]\nmust_use = ['mpc']", "no trial called a tool or MCP server 'mpc'"),
        ("[arms.mcp]\nmay_use = ['Grpe']", "arms.mcp.may_use: no trial called"),
        ("[arms.mcp]\nmust_not_use = ['Grpe']", "'Grpe'; closest: Grep"),
        ("[reward_scale]\nsiute = [0, 1]", "reward_scale: no suite 'siute'; closest: suite"),
        ("cluster = 'repository'", "cluster: no task states its repository"),
        ("[sources]\nalpha = 'me'", "unknown key 'sources'"),
    ],
)
def test_a_fault_names_file_key_and_the_closest(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    rows = uses("baseline", {"Grep": (12, 12)}) + uses("mcp", {"Grep": (12, 12)}, mcp=3)
    with pytest.raises(BadInputError) as caught:
        compare(rows, *ARMS, design="study.toml")
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("data", [b"\xff\xfe", None])
def test_a_file_that_cannot_be_read_is_named(tmp_path, data):
    path = tmp_path / "own.toml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(BadInputError, match=r"own\.toml"):
        compare(study(), *ARMS, design=path)


def test_something_else_is_no_design():
    with pytest.raises(BadInputError, match="or a mapping, not int"):
        compare(study(), *ARMS, design=3)


@pytest.mark.parametrize(
    ("must", "used", "failed", "removed"),
    [
        ("Grep", {"Grep": (12, 12)}, False, 0),
        ("Grep", {"Grep": (12, 9)}, False, 3),
        ("Grep", {"Grep": (9, 9)}, False, 3),
        ("Grep", {"Grep": (12, 7)}, True, 5),
        ("Grep", {"Grep": (7, 7)}, True, 5),
        ("Grep", {}, True, 12),
    ],
)
def test_trials_without_the_required_tool_are_removed_and_missing(must, used, failed, removed):
    rows = uses("old", {"Grep": (1, 1)}) + uses("new", used, gain=0.3)
    found = compare(rows, "old", "new", design={"arms": {"new": {"must_use": [must]}}})
    own = rule(found, "dead_mcp_server")
    assert (own.failed, own.n_removed) == (failed, removed)
    if removed < 12:
        named = [threat.sentence for threat in found.record.threats]
        assert any(f"{removed} of 12 tasks with new" in text for text in named) == (removed > 0)
    if failed:
        n_called, n_used = used.get("Grep", (0, 0))
        assert found.verdict.state == "no_verdict"
        counts = f"Grep was called in {n_called} and answered in {n_used}"
        assert own.detail == f"{removed} of 12 trials of new: {counts}"


@pytest.mark.parametrize(("n_used", "failed"), [(0, False), (4, False), (5, True), (12, True)])
def test_trials_with_a_forbidden_tool_are_removed_and_missing(n_used, failed):
    rows = uses("old", {"Grep": (12, n_used)}) + uses("new", {}, gain=0.3)
    found = compare(rows, "old", "new", design={"arms": {"old": {"must_not_use": ["Grep"]}}})
    own = rule(found, "mcp_in_baseline")
    assert (own.failed, own.n_removed) == (failed, n_used)
    assert (found.verdict.state == "no_verdict") == failed


def test_a_tool_that_may_be_used_removes_only_trials_in_which_every_call_failed():
    rows = uses("old", {}) + uses("new", {"Grep": (8, 6)}, gain=0.3)
    found = compare(rows, "old", "new", design={"arms": {"new": {"may_use": ["Grep"]}}})
    assert rule(found, "dead_mcp_server").n_removed == 2
    assert found.record.n_pairs == 10


def test_a_server_is_named_by_itself_and_a_forbidden_tool_need_not_occur():
    rows = uses("old", {})
    rows += uses("new", {"mcp__sg__search": (12, 12)}, gain=0.3, servers={"sg": (2, 2)}, mcp=2)
    design = {"arms": {"new": {"must_use": ["sg"]}, "old": {"must_not_use": ["sg", "WebSearch"]}}}
    found = compare(rows, "old", "new", design=design)
    assert found.record.gate.passed
    assert [arm.role for arm in found.record.design.arms] == ["control", "treatment"]


def test_documents_without_tools_know_the_use_of_mcp_only():
    found = compare(study(), *ARMS, design={"arms": {"mcp": {"must_use": ["Grep", "mcp"]}}})
    assert rule(found, "dead_mcp_server").n_removed == 0
    source = found.record.design.sources["comparison"]
    assert "use of Grep is not checked" in source
    assert "known for MCP only" in source


def test_only_a_role_leaves_the_tools_to_be_inferred():
    rows = study()
    found = compare(rows, *ARMS, design={"arms": {"mcp": {"role": "treatment"}}})
    assert found.record.design.arms[1].must_use == ("mcp",)
    assert found.record.design.arms[0].must_not_use == ("mcp",)
    swapped = compare(rows, *ARMS, design={"arms": {"mcp": {"role": "control"}}})
    assert swapped.record.design.arms[1].must_not_use == ()


def test_a_design_that_states_two_arms_chooses_the_pair_and_its_control_is_the_baseline():
    rows = study() + [document(f"task-{i}", "third", 0.2) for i in range(8)]
    design = {"arms": {"third": {"role": "treatment"}, "mcp": {"role": "control"}}}
    found = compare(rows, design=design)
    assert (found.baseline, found.comparison) == ("mcp", "third")
    assert found.record.design.family == "stated_pair"


def test_the_level_is_that_of_the_verdict_and_of_every_interval():
    rows = []
    for i in range(12):
        rows.append(document(f"task-{i}", "one", 0.4))
        rows.append(document(f"task-{i}", "two", 0.4 + (0.2 if i % 4 else -0.3)))
    p_value = compare(rows, "one", "two").record.metrics["file_recall"].p_value
    assert 0.05 < p_value < 0.4
    strict, lax = (compare(rows, "one", "two", alpha=alpha) for alpha in (0.05, 0.4))
    assert strict.verdict.state == "no_detectable_difference"
    assert lax.verdict.state == "better"
    widths = [
        found.record.metrics["file_recall"].ci_high - found.record.metrics["file_recall"].ci_low
        for found in (strict, lax)
    ]
    assert widths[1] < 0.7 * widths[0]
    detectable = [
        found.record.metrics["file_recall"].smallest_detectable for found in (strict, lax)
    ]
    assert detectable[1] < 0.7 * detectable[0]
    assert (lax.settings.confidence, lax.record.design.alpha) == (0.6, 0.4)
    assert lax.record.design.sources["alpha"] == "argument"


def clustered(n=12):
    """Return a study in two suites whose effects differ, each task of a repository of its own."""
    rows = []
    for i in range(n):
        fields = {"benchmark": f"s{i % 2}", "repositories": [f"r{i}"]}
        rows.append(document(f"t{i}", "one", 0.3, **fields))
        gain = (0.3 if i % 2 else 0.05) + i / 200
        rows.append(document(f"t{i}", "two", 0.3 + gain, **fields))
    return rows


@pytest.mark.parametrize(
    ("cluster", "by", "n"),
    [("suite", "suite", 2), ("task", None, None), ("repository", None, None)],
)
def test_what_is_clustered_can_be_stated(cluster, by, n):
    found = compare(clustered(), "one", "two", cluster=cluster)
    block = found.record.metrics["file_recall"]
    assert (block.cluster_by, block.n_clusters) == (by, n)
    assert found.record.design.cluster == cluster
    assert (found.verdict.state == "better") == (by is None)


def test_stated_scales_make_rewards_of_several_suites_one():
    rows = []
    for i in range(8):
        for config, more in (("one", 0.0), ("two", 0.1 + i / 100)):
            rows.append(document(f"a{i}", config, 0.5, reward=0.4 + more, benchmark="unit"))
            rows.append(
                document(f"b{i}", config, 0.5, reward=100 * (0.4 + more), benchmark="points")
            )
    apart = compare(rows, "one", "two").record
    assert apart.metrics["reward"].reason == "reward_scales_differ"
    assert len(apart.reward_by_suite) == 2
    design = {"reward_scale": {"points": [0, 100]}}
    for given in (rows, frame_of(rows)):
        found = compare(given, "one", "two", design=design)
        reward = found.record.metrics["reward"]
        assert found.record.reward_by_suite == ()
        assert reward.mean_difference == pytest.approx(0.1 + 3.5 / 100)
        assert reward.bound_low is not None
        again = compare(found.trials, "one", "two", design=design)
        assert again.record.metrics["reward"].mean_baseline == pytest.approx(0.4)
    unknown = compare(rows, "one", "two", design={"reward_scale": {"unit": "unknown"}}).record
    assert unknown.design.reward_scale == {"unit": None, "points": None}
    pooled = associate(rows, ["file_recall"], ["reward"], design=design)
    assert all(row.reason != "reward_scales_differ" for row in pooled.records)


def test_a_reward_outside_its_stated_scale_is_not_computable():
    rows = study()
    for row in rows:
        row["outcome"]["reward"] *= 10
    rows[0]["outcome"]["reward"] = 11.0
    found = compare(rows, *ARMS, design={"reward_scale": {"suite": [0, 10]}})
    assert found.record.metrics["reward"].n_pairs == 7


def test_the_headline_is_stated_and_an_argument_overrides_it():
    found = compare(study(), *ARMS, design={"headline": "reward"})
    assert found.verdict.metric == "reward"
    again = compare(study(), *ARMS, design={"headline": "reward"}, primary="cost_usd")
    assert again.verdict.metric == "cost_usd"
    assert again.record.design.headline == "cost_usd"
    (made,) = impact_document(study(), seed=1, design={"headline": "reward"})["comparisons"]
    assert made["verdict_metric"] == "reward"


def test_a_lost_repeat_that_is_a_failure_halves_its_task():
    rows = [document(f"t{i}", c, 0.5) for i in range(8) for c in ("one", "two")]
    rows.append(document("t0", "two", None, trial="again", degraded="cut"))
    found = compare(rows, "one", "two", design={"missing": "failure"}).record
    assert found.metrics["file_recall"].mean_difference == pytest.approx(-0.25 / 8)


def test_a_part_of_the_trials_keeps_a_design_that_was_checked_with_all():
    rows = study() + [document(f"x{i}", c, 0.5, benchmark="other") for i in range(6) for c in ARMS]
    stated = {"reward_scale": {"other": [0, 1]}, "arms": {"mcp": {"may_use": ["mcp"]}}}
    whole = compare(rows, *ARMS, design=stated)
    frame = frame_of(rows)
    part = frame[frame["benchmark"] == "suite"]
    with pytest.raises(BadInputError, match="no suite 'other'"):
        compare(part, *ARMS, design=stated)
    cut = compare(part, *ARMS, design=whole.settings.stated)
    assert cut.record.design.reward_scale == {"suite": (0.0, 1.0)}


def test_what_was_stated_reads_back_from_text_with_its_sources():
    made = stated_from({"missing": "failure", "arms": {"mcp": {"must_use": ["mcp"]}}})
    assert stated_from(text_of(made)) == made


def test_tools_are_the_same_from_documents_and_from_a_frame():
    rows = uses("old", {"Grep": (3, 2), "odd\ud800": (12, 12)}) + uses("new", {})
    assert [t.tools for t in trials_of(rows)] == [t.tools for t in trials_of(frame_of(rows))]
    (first, *_) = from_frame(frame_of(rows))
    assert first.use_of("Grep") == (2, 2)
    assert first.use_of("odd\\ud800") == (2, 2)
    assert first.use_of("Read") == (0, 0)
    assert trials_of(study())[0].use_of("Read") is None


def test_every_part_of_the_design_has_its_source():
    found = compare(study(), *ARMS, design={"margin": 0.05, "missing": "failure"})
    frame = found.design.set_index("field")
    assert list(frame.loc["baseline", ["value", "source"]]) == [
        "must not use MCP",
        "inferred: 0 of 8 trials of baseline called an MCP server",
    ]
    assert list(frame.loc["missing", ["value", "source"]]) == ["counts as 0", "argument"]
    assert list(frame.loc["cluster", ["value", "source"]]) == [
        "share a suite",
        "inferred: 8 shared tasks in 1 suite",
    ]


def test_the_file_in_the_documentation_is_read(project):
    text = (project / "docs" / "comparing.md").read_text(encoding="utf-8")
    stated = stated_from(text.partition("```toml\n")[2].partition("```")[0])
    assert stated.arms["mcp"].may_use == ("Grep",)
    assert stated.reward_scale == {"my_suite": (0.0, 100.0)}
    assert len(stated.values) == 10
