"""An artefact that no longer is what was written is never believed: it is made again, or named."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retrieval_eval.agents.metrics.document import TrialMetrics
from retrieval_eval.agents.runs.evaluate import evaluate
from retrieval_eval.cli import run
from retrieval_eval.errors import BadInputError, SchemaError
from retrieval_eval.io.artefacts import (
    DIGEST,
    canonical,
    is_whole,
    read_artefact,
    read_record,
    sealed,
    write_artefact,
)
from retrieval_eval.io.files import json_bytes
from retrieval_eval.model import to_builtins
from retrieval_eval.model.impact import Discrimination, MatchedPair, PairValues
from retrieval_eval.report.run import Run
from retrieval_eval.schema import faults, kind_of
from tests.runs import write_task, write_trial

ARTEFACTS = {
    "events": "baseline/task-one.retrieval_events.json",
    "metrics": "mcp/task-one.retrieval_metrics.json",
    "summary": "run_retrieval_summary.json",
    "impact": "run_impact_analysis.json",
}


@pytest.fixture
def tree(tmp_path):
    write_task(tmp_path / "benchmarks", "task-one", ["src/a.py", "src/b.py"])
    for config, reads in (("baseline", ["src/x.py"]), ("mcp", ["src/x.py", "src/a.py"])):
        write_trial(tmp_path / "runs" / "run-1", config, "task-one", reads)
    return tmp_path


def measure(tree):
    (found,) = evaluate(["run-1"], runs_root=tree / "runs", output_dir=tree / "out").runs
    return found


def content(folder):
    found = {p: json.loads(p.read_text()) for p in sorted(folder.rglob("*.json"))}
    for document in found.values():
        document.pop("generated_at")
    return found


def first_number(value, path=()):
    """The place of some number deep inside a document."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(item, dict | list):
            found = first_number(item, (*path, key))
            if found:
                return found
        elif isinstance(item, int | float) and not isinstance(item, bool):
            return (*path, key)
    return None


def altered(document):
    *above, last = first_number(document)
    place = document
    for key in above:
        place = place[key]
    place[last] += 1


def emptied(document):
    for name, value in document.items():
        if isinstance(value, dict | list):
            document[name] = type(value)()


def of_wrong_types(document):
    for name, value in document.items():
        if isinstance(value, dict | list):
            document[name] = "text"


def without_body(document):
    kept = {name: document[name] for name in ("schema_version", "input_fingerprint")}
    document.clear()
    document.update(kept)


def without_digest(document):
    altered(document)
    del document[DIGEST]


def extended(document):
    document["coverage"] = {**document.get("coverage", {}), "more": 1}


def sealed_again(document):
    of_wrong_types(document)
    document.update(sealed({k: v for k, v in document.items() if k != DIGEST}))


def edit(change):
    def damage(path):
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document))

    damage.__name__ = change.__name__
    return damage


def truncated(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def nothing_left(path):
    path.write_bytes(b"")


def another_kind(path):
    path.write_text("[1, 2]")


def not_a_number(path):
    text = path.read_text()
    path.write_text(text.replace('"schema_version"', '"more": NaN, "schema_version"', 1))


CHANGES = (
    *(altered, emptied, of_wrong_types, sealed_again),
    *(without_body, without_digest, extended),
)
DAMAGES = [*map(edit, CHANGES), truncated, nothing_left, another_kind, not_a_number]


@pytest.mark.parametrize("name", ARTEFACTS)
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_artefact_is_made_again_and_named(tree, name, damage):
    folder = measure(tree).folder
    before = content(folder)
    path = folder / ARTEFACTS[name]
    damage(path)
    assert content_or_none(path) != before[path]
    again = measure(tree)
    assert content(folder) == before
    (note,) = again.notes
    assert ARTEFACTS[name].rsplit("/")[-1] in note
    assert note.endswith("; made again")
    third = measure(tree)
    assert third.notes == ()
    assert not any(done.is_fresh for done in third.trials)


def content_or_none(path):
    try:
        document = json.loads(path.read_text())
    except ValueError:
        return None
    if isinstance(document, dict):
        document.pop("generated_at", None)
    return document


def test_the_command_says_which(tree, monkeypatch, capsys):
    monkeypatch.chdir(tree)
    folder = measure(tree).folder
    edit(altered)(folder / ARTEFACTS["metrics"])
    edit(emptied)(folder / ARTEFACTS["summary"])
    assert run(["evaluate", "run-1", "--output-dir", "out"]) == 0
    text = capsys.readouterr().out
    why = "damaged, or edited after it was written; made again"
    assert f"  note: {ARTEFACTS['metrics']}: {why}\n" in text
    assert f"  note: {ARTEFACTS['summary']}: {why}\n" in text
    assert run(["evaluate", "run-1", "--output-dir", "out", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["notes"] == []


# Without a digest it looks like a document of an earlier version, which had none.
TOLD_ALONE = [d for d in DAMAGES if d.__name__ not in {"without_body", "without_digest"}]


@pytest.mark.parametrize("name", ["metrics", "impact"])
@pytest.mark.parametrize("damage", TOLD_ALONE, ids=lambda damage: damage.__name__)
def test_a_report_without_the_inputs_at_hand_names_the_file(tree, name, damage):
    folder = measure(tree).folder
    damage(folder / ARTEFACTS[name])
    with pytest.raises(BadInputError, match=ARTEFACTS[name].rsplit("/")[-1]):
        frames_of(folder)


def frames_of(folder):
    found = Run([folder])
    return [found.trials, found.events, found.pairs, found.gate, found.ledger]


def test_an_artefact_of_an_earlier_version_is_read_as_it_is(tree):
    folder = measure(tree).folder
    whole = [len(frame) for frame in frames_of(folder)]
    for name in ARTEFACTS.values():
        path = folder / name
        document = json.loads(path.read_text())
        del document[DIGEST]
        path.write_text(json.dumps(document, indent=3))
    assert [len(frame) for frame in frames_of(folder)] == whole


def test_another_layout_is_no_damage(tree):
    folder = measure(tree).folder
    for path in folder.rglob("*.json"):
        path.write_text(json.dumps(json.loads(path.read_text()), indent=3) + "\r\n")
    again = measure(tree)
    assert again.notes == ()
    assert not any(done.is_fresh for done in again.trials)


def test_validate_tells_a_number_that_was_changed(tree, capsys):
    folder = measure(tree).folder
    path = folder / ARTEFACTS["metrics"]
    document = json.loads(path.read_text())
    assert faults(document, kind_of(document)) == []
    document["file_level_metrics"]["mrr"] = 1.0
    path.write_text(json.dumps(document))
    assert run(["validate", str(path)]) == 3
    assert f"{path}: /{DIGEST}: does not fit the rest: damaged" in capsys.readouterr().out


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=settings().max_examples // 4)
@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_any_document_that_is_written_is_whole(tmp_path_factory, document):
    path = tmp_path_factory.mktemp("artefact") / "a.json"
    for indent in (None, 1):
        write_artefact(path, document, indent=indent)
        found = read_artefact(path, path.parent)
        assert found.problem is None
        assert is_whole(found.value) is True
    assert is_whole({**sealed(document), "one more": 1}) is False


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.sampled_from([1e-4, 9e-5, 1e16, -0.0, 203, "Ë" * 203, "1e5,", 2**64])
        | st.text(st.characters(exclude_categories=[]), max_size=20),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
        max_leaves=10,
    )
)
def test_both_encoders_write_a_value_in_the_same_bytes(value):
    try:
        expected = json_bytes(value)[:-1]
    except ValueError:
        with pytest.raises(ValueError, match="JSON compliant"):
            canonical(value)
    else:
        assert canonical(value) == expected


NUMBER = st.none() | st.floats() | st.sampled_from([0.0, 1e-5, -1e-5, 0.25, 1e16, 1e-300])


@given(st.lists(st.tuples(st.text(max_size=3), NUMBER, NUMBER), max_size=4))
def test_records_of_which_some_hold_an_unusual_number_are_written_in_the_same_bytes(rows):
    sides = [PairValues(baseline=a, comparison=b, difference=None) for _, a, b in rows]
    value = tuple(
        MatchedPair(benchmark=name, task_name="1e-5", n_trials_baseline=3, metrics={"m": own})
        for (name, *_), own in zip(rows, sides, strict=True)
    )
    value += (Discrimination(metric="m", status="redundant", detail="é", with_="1e16"),)
    try:
        expected = json_bytes(msgspec.to_builtins(value))[:-1]
    except ValueError:
        with pytest.raises(ValueError, match="JSON compliant"):
            canonical(value)
    else:
        assert canonical(value) == expected


def test_a_record_of_numbers_that_no_document_may_hold_is_refused(tree):
    path = measure(tree).folder / ARTEFACTS["metrics"]
    document = json.loads(path.read_text())
    del document[DIGEST]
    for text in ("NaN", "-Infinity", "1e999", f"{'9' * 400}.5"):
        document["chunk_level_metrics"]["redundancy"] = 0.123456
        path.write_text(json.dumps(document).replace("0.123456", text))
        with pytest.raises(SchemaError):
            read_record(path, path.parent, TrialMetrics)


def test_a_record_without_a_block_that_was_computable_is_written_again(tree):
    path = measure(tree).folder / ARTEFACTS["metrics"]
    document = json.loads(path.read_text())
    del document[DIGEST]
    document["chunk_level_metrics"]["line_overlap"] = {}
    path.write_text(json.dumps(document))
    record = read_record(path, path.parent, TrialMetrics)
    assert to_builtins(record)["chunk_level_metrics"]["line_overlap"] == {}
