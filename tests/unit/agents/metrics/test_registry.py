"""What holds for every metric of the registry."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.agents.events.evidence import VIEWS
from retrieval_eval.agents.metrics import catalog, measure
from retrieval_eval.agents.metrics.catalog import BY_NAME, METRICS, Metric, read_metric
from retrieval_eval.agents.metrics.document import ChunkLevel, FileLevel, FileView, Utilization
from retrieval_eval.errors import BadInputError
from retrieval_eval.model import to_builtins
from retrieval_eval.ranking.measures import DEFINITIONS
from retrieval_eval.registry import Registry
from retrieval_eval.search.run.named_metrics import BLOCK_OF
from retrieval_eval.values import REASONS, Value
from tests.conftest import COSTLY
from tests.trials import trial, truth

COMPUTED = [m for m in BY_NAME.values() if m.compute is not None]
FILES = tuple(f"src/{name}.py" for name in "abcdef")
ACCESSES = ("opened", "matched", "listed", "written")

steps = st.lists(st.tuples(st.sampled_from(ACCESSES), st.sampled_from(FILES)), max_size=12)
truths = st.lists(st.sampled_from(FILES), min_size=1, max_size=4, unique=True)


def document(made, **options) -> dict:
    return to_builtins(measure(made, **options))


def test_the_order_does_not_depend_on_what_is_imported_first():
    names = [m.name for m in METRICS.values()]
    assert names[0] == "file_recall"
    assert names.index("context_efficiency") < names.index("chunk_recall") < names.index("reward")


@pytest.mark.parametrize("metric", BY_NAME.values(), ids=lambda m: m.name)
def test_every_metric_is_described(metric):
    assert "{k}" not in metric.meaning
    assert metric.label
    assert metric.title[0].isupper() or metric.title[0] == "n"
    assert metric.meaning
    assert not metric.meaning.endswith(".")
    assert metric.better in ("higher", "lower")
    assert metric.reason in REASONS


def test_documents_say_which_direction_is_better():
    found = {BY_NAME[name].direction for name in ("file_recall", "reward")}
    assert found == {"higher_is_better"}
    assert {BY_NAME[name].direction for name in ("ttfr_seconds", "cost_usd")} == {"lower_is_better"}


def test_every_computed_number_has_a_formula():
    formulae = {m.name: m.formula for m in COMPUTED}
    formulae |= {name: measure.formula for name, measure in DEFINITIONS.items()}
    formulae |= {name: place.formula for name, place in BLOCK_OF.items()}
    assert [name for name, formula in formulae.items() if not formula] == []


@pytest.mark.parametrize("metric", COMPUTED, ids=lambda m: m.name)
@COSTLY
@given(made=steps, expected=truths)
def test_a_share_lies_between_0_and_1_and_a_missing_one_has_a_reason(metric, made, expected):
    value = read_metric(document(trial(truth(*expected), *made)), metric)
    if value.value is None:
        assert value.reason in REASONS
        assert value.reason != "not_recorded"
    elif metric.unit == "share":
        assert 0 <= value.value <= 1


@pytest.mark.parametrize("metric", COMPUTED, ids=lambda m: m.name)
def test_nothing_is_computed_where_nothing_can_be(metric):
    value = read_metric(document(trial(truth("src/a.py")), reason="no_trace"), metric)
    assert value == Value.missing("no_trace")


@pytest.mark.parametrize("metric", [m for m in COMPUTED if m.is_of_view], ids=lambda m: m.name)
@COSTLY
@given(made=steps, expected=truths)
def test_a_metric_of_files_does_not_depend_on_the_order_of_the_ground_truth(metric, made, expected):
    one = read_metric(document(trial(truth(*expected), *made)), metric)
    other = read_metric(document(trial(truth(*reversed(expected)), *made)), metric)
    assert one == other


@pytest.mark.parametrize("metric", [m for m in COMPUTED if m.is_of_view], ids=lambda m: m.name)
def test_a_metric_of_files_stands_in_every_view(metric):
    made = trial(truth("src/a.py"), ("opened", "src/a.py"), ("matched", "src/b.py"))
    found = document(made)
    default = read_metric(found, metric)
    assert read_metric(found, catalog.in_view(metric, VIEWS[0])) == default
    for view in VIEWS:
        assert read_metric(found, catalog.in_view(metric, view)).value is not None


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A registry like that of metrics, and a package beside this one whose entries it finds."""

    def install(source: str, *names: str) -> catalog._Metrics:
        (tmp_path / "their_metrics.py").write_text(source)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "their_metrics", raising=False)
        points = [EntryPoint(n, f"their_metrics:{n}", METRICS.group) for n in names]
        monkeypatch.setattr("retrieval_eval.registry.entry_points", lambda group: points)
        return catalog._Metrics(METRICS.group, METRICS.noun, METRICS._modules, of=Metric)

    return install


THEIRS = """
from retrieval_eval.agents.metrics.catalog import metric
from retrieval_eval.values import Value

@metric("{name}", label="hits", meaning="ground-truth files retrieved", unit="files")
def hits(view):
    return Value.of(len(view.found), len(view.relevant))
"""


def test_a_metric_of_another_distribution_follows_those_of_this_one(elsewhere):
    found = elsewhere(THEIRS.format(name="hits"), "hits")
    assert list(found) == [*METRICS, "hits"]
    assert found["hits"].path == ("file_level_metrics", "hits")


@pytest.mark.parametrize(
    ("source", "names", "message"),
    [
        (THEIRS.format(name="mrr"), ["hits"], "its own name is 'mrr'"),
        ("hits = 3", ["hits"], "is no metric"),
        ("raise RuntimeError('broken')", ["hits"], "cannot be loaded from their_metrics:hits: bro"),
        (THEIRS.format(name="mrr").replace("def hits", "def mrr"), ["mrr"], "two entries 'mrr'"),
    ],
)
def test_a_metric_that_cannot_be_added_is_named(elsewhere, source, names, message):
    with pytest.raises(BadInputError, match=message):
        list(elsewhere(source, *names))


def test_a_metric_returns_a_value():
    wrong = catalog.metric("wrong", label="w", meaning="w")(lambda view: 0.5)
    with pytest.raises(BadInputError, match="the metric 'wrong' returned float; expected a Value"):
        catalog.Computed("wrong", "wrong", wrong).of(None)


def test_a_recorded_metric_is_not_computed():
    with pytest.raises(TypeError, match="reward is recorded, not computed"):
        METRICS["reward"](None)


def test_an_unknown_metric_is_told_with_the_closest_name():
    with pytest.raises(BadInputError, match="'file_recal' is no metric; did you mean 'file_reca"):
        METRICS["file_recal"]


def test_a_registry_is_loaded_once_more_after_a_failure(monkeypatch):
    registry = Registry[str]("retrieval_eval.none", "thing")
    points = [EntryPoint("a", "no_such_module:a", registry.group)]
    monkeypatch.setattr("retrieval_eval.registry.entry_points", lambda group: points)
    for _ in range(2):
        with pytest.raises(BadInputError, match="'a' cannot be loaded"):
            list(registry)


@pytest.mark.parametrize(
    ("block", "struct"),
    [
        ("file_level_metrics", FileLevel),
        ("file_level_metrics", FileView),
        ("chunk_level_metrics", ChunkLevel),
        ("utilization_probes", Utilization),
    ],
)
def test_the_document_has_a_field_for_every_metric_and_cannot_be_changed(block, struct):
    fields = {field.encode_name for field in msgspec.structs.fields(struct)}
    for metric in METRICS.values():
        # What is recorded, not computed, is the same in every view.
        if metric.path == (block, metric.name) and (metric.compute or struct is not FileView):
            assert metric.name in fields
    assert struct.__struct_config__.frozen
