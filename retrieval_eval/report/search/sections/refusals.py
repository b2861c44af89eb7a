"""Does search know when to return nothing: the ROC, its operating point, and two controls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from retrieval_eval.escape import visible
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.numbers import MISSING, finite, of, rate
from retrieval_eval.report.search.facts import Facts
from retrieval_eval.report.search.figures import roc
from retrieval_eval.report.search.names import reason
from retrieval_eval.report.search.reading import members
from retrieval_eval.report.search.tables import span
from retrieval_eval.values import counted

CONTROLS = {"always_answer": "Always answer", "always_refuse": "Always refuse"}


def abstention(facts: Facts) -> Block:
    """Return what refusing catches and costs, beside two controls that must fail."""
    block = members(facts.run.document.get("abstention"))
    if not block:
        n = len(facts.unanswerable)
        why = (
            "The run was measured before refusals were; measure it again."
            if n
            else "The gold set has no query that no document answers, so there is nothing to "
            "refuse rightly."
        )
        return section("Refusals were not measured", Empty("abstention", why))
    table = _rates(block, facts.coverage)
    said = [_sentence(visible(text, 300)) for text in block.get("reasons") or ()]
    drawn = roc.draw(block, facts.coverage)
    return section(_finding(block), drawn, table, sentences=said)


def _finding(block: Mapping[str, Any]) -> str:
    caught, refused = block["true_positive_rate"], block["false_refusal_rate"]
    if caught["value"] is None:
        return f"What refusing does is not computable: {reason(caught['reason'])}"
    parts = [f"{_counts(caught)} unanswerable queries were refused"]
    if refused["value"] is not None:
        parts.append(f"{_counts(refused)} answerable ones")
    area = block["auc"]
    text = f"{', and '.join(parts)}"
    return f"{text}; AUC {rate(area['value'])}" if area["value"] is not None else text


def _counts(rate_block: Mapping[str, Any]) -> str:
    refused = rate_block.get("n_refused")
    if refused is None and finite(rate_block["value"]) is not None:
        refused = round(rate_block["value"] * rate_block["n"])
    return of(refused, rate_block["n"])


def _rates(block: Mapping[str, Any], coverage: str) -> Table:
    def cell(found: Mapping[str, Any]) -> str:
        if found["value"] is None:
            return MISSING
        counts = _counts(found)
        return f"{rate(found['value'])} {span(found['ci_low'], found['ci_high'])}, {counts}"

    gate = members(block.get("gate"))
    decided = (
        "nothing came back"
        if block["threshold"] is None
        else f"nothing came back, or the top score is below {block['threshold']:g}"
    )
    rows = [
        (
            f"This run (refused: {decided})",
            cell(block["true_positive_rate"]),
            cell(block["false_refusal_rate"]),
            _passes(members(block.get("operating_point")).get("passes")),
        )
    ]
    rows += [
        (
            name,
            rate(point["true_positive_rate"]),
            rate(point["false_refusal_rate"]),
            _passes(point.get("passes")),
        )
        for key, name in CONTROLS.items()
        if (point := members(members(block.get("controls")).get(key)))
    ]
    area = block["auc"]
    notes = [
        f"AUC {rate(area['value'])} {span(area['ci_low'], area['ci_high'])} over "
        f"{counted(area['n'], 'query')}: how often an answerable query outscores an "
        "unanswerable one."
        if area["value"] is not None
        else f"{MISSING} AUC: {reason(area['reason'])}."
    ]
    if gate:
        notes.append(
            f"The gate has two sides: at least {rate(gate['min_true_positive_rate'])} of the "
            f"unanswerable refused, at most {rate(gate['max_false_refusal_rate'])} of the "
            "answerable. Both controls must fail it. A threshold that was chosen on these queries "
            "does worse on others."
        )
    return Table(
        "abstention",
        f"Share refused, with {coverage} Wilson interval and counts",
        ("Who decides", "Of unanswerable", "Of answerable", "Passes the gate"),
        tuple(rows),
        ("left", "left", "left", "left"),
        tuple(notes),
    )


def _passes(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else MISSING


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
