from __future__ import annotations

import json
import random
from datetime import date
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from retrieval_eval import schema
from retrieval_eval.agents.runs.evaluate import evaluate
from retrieval_eval.demo import write_search_demo
from retrieval_eval.errors import SchemaError
from retrieval_eval.io.artefacts import write_artefact
from retrieval_eval.model import DOCUMENTS, PUBLISHED, from_builtins, json_schema, to_builtins
from retrieval_eval.model.impact import ImpactAnalysis
from retrieval_eval.report.index import Listed, entry_of
from retrieval_eval.schema import now
from retrieval_eval.search.decide.thresholds import shipped_thresholds
from retrieval_eval.search.measure import Request, measure_request
from tests.generated import generated
from tests.plain_runs import check, diff, noise
from tests.searches import written
from tests.studies import impact_document, study


@pytest.fixture(scope="module")
def artefacts(demo_tree, tmp_path_factory) -> dict[str, list[dict]]:
    """Every artefact of the demo, by kind."""
    output = tmp_path_factory.mktemp("artefacts")
    evaluate(["demo"], runs_root=demo_tree / "runs", output_dir=output)
    found: dict[str, list[dict]] = {kind: [] for kind in schema.SCHEMAS}
    for path in sorted(output.rglob("*.json")):
        document = json.loads(path.read_text())
        found[schema.kind_of(document)].append(document)
    search = write_search_demo(output / "search")
    rows = search.gold.read_text(encoding="utf-8").splitlines()
    found["gold_set"] += [json.loads(row) for row in rows]
    baseline = None
    for k1 in ("1.2", "0.4"):
        request = Request(
            search.gold,
            f"bm25:{search.corpus}",
            options={"k1": k1},
            corpora=("product_docs",),
            baseline=baseline,
            backlog=f"sqlite:///{search.feedback}",
            out=output / "runs",
        )
        measured = measure_request(request)
        baseline = measured.json_path
        found["search_run"].append(written(measured.run))
    runs = found["search_run"]
    found["search_diff"].append(written(diff(*runs, seed=1, pinned=[runs[0]["queries"][0]["id"]])))
    verdict = check([runs[1]], [runs[0]], shipped_thresholds(), today=date(2026, 1, 10))
    found["search_guard"].append(written(verdict))
    found["search_noise"].append(written(noise([runs[1]] * 2, generated_at=now(), seed=1)))
    listed = Listed(output, now(), "better", n_trials=2, n_queries=3)
    page = '<div class="block answer tone-better">\n<p class="finding">It &lt;helped&gt;</p></div>'
    entry = entry_of(page, "run_report", "A report", listed, simulated=True)
    write_artefact(output / "report.json", entry)
    found["report"].append(json.loads((output / "report.json").read_text()))
    return found


def undeclared(value: Any, part: dict, root: dict, pointer: str = "") -> list[str]:
    """Return the pointers of object members that a schema does not mention."""
    if "$ref" in part:
        part = root["$defs"][part["$ref"].rsplit("/", 1)[-1]]
    if isinstance(value, list):
        items = part.get("items")
        return [
            p
            for i, v in enumerate(value)
            for p in (undeclared(v, items, root, f"{pointer}/{i}") if items else [])
        ]
    if not isinstance(value, dict) or not ("properties" in part or "additionalProperties" in part):
        return []
    known, rest = part.get("properties", {}), part.get("additionalProperties")
    found = []
    for key, member in value.items():
        if key in known:
            found += undeclared(member, known[key], root, f"{pointer}/{key}")
        elif isinstance(rest, dict):
            found += undeclared(member, rest, root, f"{pointer}/{key}")
        else:
            found.append(f"{pointer}/{key}")
    return found


@pytest.mark.parametrize("kind", sorted(schema.SCHEMAS))
def test_what_is_written_is_valid_and_every_field_is_declared(artefacts, kind):
    assert artefacts[kind]
    part = schema.load_schema(kind)
    for document in artefacts[kind]:
        assert schema.faults(document, kind) == []
        assert undeclared(document, part, part) == []
    assert not list(Draft202012Validator(part).iter_errors(artefacts[kind][-1]))


ODD = (
    None,
    True,
    -1,
    0,
    3.0,
    1.5,
    2**70,
    float("nan"),
    "",
    "2026-02-30",
    "x",
    [],
    {},
    [None],
    "\ud800",
)
"""What a member may have been replaced with in a document that someone edited."""


def shortened(value: Any) -> Any:
    """Return a document with the first three of each list, so that many edits cost little."""
    if isinstance(value, list):
        return [shortened(each) for each in value[:3]]
    if isinstance(value, dict):
        return {key: shortened(each) for key, each in value.items()}
    return value


@pytest.mark.parametrize("kind", sorted(DOCUMENTS))
def test_what_has_the_types_of_its_struct_is_valid(artefacts, kind):
    draw = random.Random(kind)
    validator = Draft202012Validator(schema.load_schema(kind))
    document = shortened(min(artefacts[kind], key=lambda made: len(json.dumps(made))))
    n_typed = 0
    for _ in range(60):
        edited = json.loads(json.dumps(document))
        part = edited
        while True:
            key = draw.choice(sorted(part) if isinstance(part, dict) else range(len(part)))
            if not (isinstance(part[key], dict | list) and part[key]) or draw.random() < 0.2:
                break
            part = part[key]
        if draw.random() < 0.2:
            del part[key]
        else:
            part[key] = draw.choice(ODD)
        if schema.is_typed(edited, kind):
            n_typed += 1
            assert list(validator.iter_errors(edited)) == []
    assert 0 < n_typed < 60


@pytest.mark.parametrize("kind", sorted(PUBLISHED))
def test_a_schema_is_itself_valid_and_describes_every_field(kind):
    part = json_schema(kind)
    Draft202012Validator.check_schema(part)
    assert part["$schema"].endswith("2020-12/schema")
    assert part["title"]
    assert all(p.get("description") for p in part["properties"].values())


@pytest.mark.parametrize("path", sorted(generated()), ids=lambda path: path.name)
def test_a_generated_file_is_what_its_declarations_give(path):
    assert path.read_text(encoding="utf-8") == generated()[path], "run `make schemas`"


@pytest.mark.parametrize("kind", sorted(DOCUMENTS))
def test_a_document_read_and_written_again_is_the_same(artefacts, kind):
    for document in artefacts[kind]:
        record = from_builtins(document, DOCUMENTS[kind].struct, kind)
        written = to_builtins(record)
        assert from_builtins(written, DOCUMENTS[kind].struct, kind) == record
        assert _without_nulls(json.loads(json.dumps(written))) == _without_nulls(document)


@pytest.mark.parametrize("kind", sorted(DOCUMENTS))
def test_a_document_without_a_required_field_is_refused_with_its_place(artefacts, kind):
    document = {name: v for name, v in artefacts[kind][0].items() if name != "schema_version"}
    with pytest.raises(SchemaError, match=r"^file\.json: /: .*schema_version"):
        from_builtins(document, DOCUMENTS[kind].struct, "file.json")


def _without_nulls(value: Any) -> Any:
    """Fields of a later 1.x that an earlier document did not write are null or empty."""
    if isinstance(value, dict):
        parts = {name: _without_nulls(member) for name, member in value.items()}
        return {name: part for name, part in parts.items() if part not in (None, {}, [])}
    return [_without_nulls(member) for member in value] if isinstance(value, list) else value


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.9", "1.12.3"])
def test_any_minor_version_is_accepted(version):
    schema.check_version({"schema_version": version}, "x")


@pytest.mark.parametrize("moment", ["2026-02-30T00:00:00Z", "9999-12-31T23:59:59-23:59"])
def test_a_document_of_a_day_that_never_was_is_refused(moment):
    with pytest.raises(SchemaError, match=r"x: /generated_at: .* is no moment"):
        schema.check_version({"schema_version": "1.2", "generated_at": moment}, "x")


@pytest.mark.parametrize("version", ["2.0", "0.9", "10.1"])
def test_another_major_version_is_refused_by_name(version):
    with pytest.raises(SchemaError, match=f"x: schema version {version} has another major"):
        schema.check_version({"schema_version": version}, "x")


@pytest.mark.parametrize("version", ["2.0", "2", "v3.1", "2.0-rc1", 2, 2.0])
def test_a_lenient_reader_refuses_another_major_version_too(version):
    with pytest.raises(SchemaError, match=f"x: schema version {version} has another major"):
        schema.refuse_other_major({"schema_version": version}, "x")


@pytest.mark.parametrize(
    "document", [None, [], {}, {"schema_version": 1.0}, {"schema_version": "one"}]
)
def test_a_document_without_a_version_is_refused(document):
    with pytest.raises(SchemaError, match="/schema_version: expected a version"):
        schema.check_version(document, "x")


def test_faults_are_ordered_pointers(artefacts):
    document = json.loads(json.dumps(artefacts["retrieval_events"][0]))
    document["events"][0]["step_index"] = -1
    document["events"][0]["tool_category"] = "x" * 1000
    document["coverage"].pop("has_trajectory")
    found = schema.faults(document, "retrieval_events")
    assert [f.pointer for f in found] == [
        "/coverage",
        "/events/0/step_index",
        "/events/0/tool_category",
    ]
    assert all(len(f.message) < 400 for f in found)


def test_a_lone_surrogate_in_a_key_is_a_fault_like_any_other():
    assert schema.faults({"\ud800": 1}, "search_run")


def test_a_document_too_deep_to_be_shown_is_a_fault():
    deep = "x"
    for _ in range(3000):
        deep = [deep]
    found = schema.faults({"schema_version": deep}, "search_run")
    # How deep that is differs between versions of Python.
    too_deep = schema.Fault("", "nested too deeply")
    assert found == [too_deep] or "/schema_version" in {fault.pointer for fault in found}


def test_an_analysis_of_1_x_is_read_as_one_of_2_0():
    of_cost = {
        "direction": "lower_is_better",
        "kind": "positive",
        "headline": "ratio",
        "n_pairs": 9,
        "computable": True,
        "reason": None,
        "n_not_positive": 1,
        "mean_difference": 0.5,
        "ci_low": 0.1,
        "ci_high": 0.9,
        "p_value": 0.2,
        "n_ratio": 8,
        "ratio": 1.5,
        "ratio_low": 1.2,
        "ratio_high": 1.9,
        "ratio_p": 0.004,
    }
    of_time = {
        "direction": "lower_is_better",
        "kind": "censored",
        "headline": "restricted_mean",
        "n_pairs": 5,
        "computable": False,
        "reason": "too_few_pairs",
        "n_restricted": 9,
        "mean_difference": -9.0,
        "restricted_mean_difference": 2.0,
        "until": 30.0,
        "restricted_mean_low": 1.0,
        "restricted_mean_high": 3.0,
        "restricted_mean_p": 0.01,
    }
    compared = impact_document(study(6), seed=1)
    (own,) = compared["comparisons"]
    own["metrics"] |= {"cost_usd": of_cost, "ttfr_seconds": of_time}
    former = compared | {"schema_version": "1.2"}
    schema.check_version(former, "x")
    assert schema.faults(former, "run_impact_analysis") == []
    read = from_builtins(former, ImpactAnalysis, "x")
    cost, time = (read.comparisons[0].metrics[name] for name in ("cost_usd", "ttfr_seconds"))
    assert (cost.estimate, cost.ci_low, cost.ci_high, cost.p_value) == (1.5, 1.2, 1.9, 0.004)
    assert (cost.mean_difference, cost.bill_low, cost.bill_high) == (0.5, 0.1, 0.9)
    assert (time.kind, time.n_pairs, time.mean_difference, time.estimate) == ("time", 9, 2.0, 2.0)
    assert (time.ci_low, time.ci_high, time.until) == (1.0, 3.0, 30.0)
    # The reason was that of the mean over tasks with a hit on both sides.
    assert time.reason is None
    # Its bins and curves were other numbers.
    assert read.calibration == read.time_to_first_relevant == ()


@pytest.mark.parametrize("part", [None, 3, "x", [1], {"metrics": 3, "views": {"opened": 4}}])
def test_an_analysis_of_1_x_that_is_none_has_faults_and_does_not_raise(part):
    document = {"schema_version": "1.2", "comparisons": [part]}
    assert schema.faults(document, "run_impact_analysis")
    assert schema.faults({"schema_version": "1.2", "comparisons": part}, "run_impact_analysis")


def test_only_a_kind_that_has_it_is_of_major_2():
    schema.check_version({"schema_version": "2.0", "comparisons": []}, "x")
    with pytest.raises(SchemaError, match="another major version"):
        schema.check_version({"schema_version": "2.0", "events": []}, "x")
