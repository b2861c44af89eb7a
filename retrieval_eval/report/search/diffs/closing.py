"""What was compared, how it was computed, and what it was made from."""

from __future__ import annotations

from retrieval_eval.escape import visible
from retrieval_eval.report.checkout import commit
from retrieval_eval.report.exhibits import Block, Table, section
from retrieval_eval.report.search.diffs.facts import SIDES, DiffFacts
from retrieval_eval.report.search.names import definition
from retrieval_eval.report.sections.closing import library_versions, made_from, package_version
from retrieval_eval.search.named_metrics import BLOCK_OF
from retrieval_eval.stats.paired import MIN_PAIRS
from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P
from retrieval_eval.values import counted


def setup(facts: DiffFacts) -> Block:
    """Return both runs side by side, and everything that differs between their set-ups."""
    document = facts.document
    rows = [
        (
            side,
            visible(found["label"] or "no label", 60),
            visible(found["generated_at"], 24),
            visible("not shown" if facts.privacy else found["retriever"], 60),
            f"{visible(found['gold_set']['name'], 40)} {found['gold_set']['fingerprint'][:12]}",
            f"{found['n_queries']:,}",
            f"{found['n_failed']:,}",
        )
        for side in SIDES
        for found in [document[side.lower()]]
    ]
    sides = Table(
        "sides",
        "The two runs",
        ("Run", "Label", "Measured", "Retriever", "Gold set", "Queries", "Failed"),
        tuple(rows),
        ("left", "left", "left", "left", "left", "right", "right"),
    )
    changes = document["changes"]
    finding = (
        f"The set-up differs in {counted(len(changes), 'setting')}"
        if changes
        else "The set-up of both runs is recorded as the same"
    )
    said = [visible(one["difference"], 300) + "." for one in document["accepted"]]
    said = [f"Accepted although it differs: {text}" for text in said]
    if changes and not facts.privacy:
        said.append(f"Changed: {'; '.join(visible(change, 160) for change in changes[:12])}.")
    return section(finding, sides, sentences=[*said, *facts.withheld, *facts.notices])


def definitions(facts: DiffFacts) -> Block:
    """Return the definition of every metric that was compared."""
    settings = facts.document["settings"]
    method = (
        "Queries are paired by id, and a metric is compared over those that have it in both runs. "
        "A query adds (B − A) / pairs, in points (hundredths), and what all add is the change. "
        f"Intervals: {facts.coverage} paired bootstrap over queries ({settings['n_resamples']:,} "
        f"resamples, seed {settings['seed']}), from {MIN_PAIRS} pairs; p: sign flips, from "
        f"{MIN_PAIRS_FOR_P}. Swapping A and B negates every number exactly."
    )
    known = {
        name: BLOCK_OF[name].meaning if name in BLOCK_OF else definition(name)
        for name in facts.changes
    }
    table = Table(
        "diff-definitions",
        "Definitions",
        ("Metric", "Definition"),
        tuple((name, text or "not one of ours") for name, text in known.items()),
        ("left", "left"),
        (method,),
    )
    return section("How each number is defined", table)


def provenance(facts: DiffFacts) -> Block:
    """Return fingerprints, versions and settings."""
    rows = []
    for side, run in zip(SIDES, facts.diff.runs, strict=True):
        gold = run["run"]["gold_set"]
        rows += [
            (f"{side}: gold set", f"{gold['name']}, sha256 {gold['fingerprint']}"),
            *(
                (f"{side}: corpus {c['corpus']}", c["fingerprint"] or "no digest")
                for c in run["run"]["corpora"]
            ),
            (
                f"{side}: measured with",
                ", ".join(f"{name} {v}" for name, v in run["run"]["versions"].items()),
            ),
        ]
    rows += [(name, str(value)) for name, value in facts.document["settings"].items()]
    rows += [
        ("Noise", facts.noise.document.generated_at if facts.noise else "not measured"),
        ("Schema version", facts.document["schema_version"]),
        ("Package", package_version()),
        ("Git commit", commit() or "not run from a checkout"),
        ("Libraries", library_versions()),
    ]
    shown = ((visible(name, 80), visible(value, 400)) for name, value in rows)
    return made_from("The same runs give the same report", shown)
