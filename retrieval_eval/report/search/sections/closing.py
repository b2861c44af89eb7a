"""How it was computed, and what it was made from."""

from __future__ import annotations

from retrieval_eval.escape import visible
from retrieval_eval.report.checkout import commit
from retrieval_eval.report.exhibits import Block, Table, section
from retrieval_eval.report.search.facts import Facts
from retrieval_eval.report.search.names import definition
from retrieval_eval.report.search.reading import members
from retrieval_eval.report.sections.closing import library_versions, made_from, package_version
from retrieval_eval.stats.calibration import MIN_INTERPRETABLE
from retrieval_eval.stats.paired import MIN_PAIRS
from retrieval_eval.stats.sign_flips import MIN_PAIRS_FOR_P
from retrieval_eval.study.verdict import ALPHA


def definitions(facts: Facts) -> Block:
    """Return the definition of every measure of this report."""
    settings = facts.run.document["run"]["settings"]
    method = (
        f"Grade 1 and more is relevant. Documents are ranked by score, equal scores by document "
        f"id, both descending (convention {settings['convention']}). An answerable query without "
        "documents scores 0 on every measure but Judged; one without relevant labels, unanswerable "
        "ones among them, and one that failed have no value and are counted."
    )
    intervals = (
        f"Intervals of a mean are {facts.coverage} studentised bootstrap intervals over queries "
        f"({settings['n_resamples']:,} resamples, seed {settings['seed']}). Changes are paired by "
        f"query: bootstrap interval from {MIN_PAIRS} pairs, sign-flip p from {MIN_PAIRS_FOR_P}. A "
        f"change is called clear when its interval leaves out 0 and its p, adjusted over the "
        f"headline measures (Holm), lies below {ALPHA}. Parts with fewer than "
        f"{MIN_INTERPRETABLE} queries are not interpreted. Points are hundredths."
    )
    table = Table(
        "search-definitions",
        "Definitions; higher is better in all but Judged",
        ("Measure", "Definition"),
        tuple((m, definition(m) or "not one of ours") for m in facts.run.measures),
        ("left", "left"),
        (method, intervals),
    )
    return section("How each number is defined", table)


def provenance(facts: Facts) -> Block:
    """Return fingerprints, versions, settings and the time of measuring."""
    document = facts.run.document
    run, base = document["run"], members(members(facts.delta).get("baseline"))
    settings = run["settings"]
    rows = [
        ("Label", document["label"] or "none"),
        ("Measured", document["generated_at"]),
        ("Gold set", f"{run['gold_set']['name']}, sha256 {run['gold_set']['fingerprint']}"),
        *((f"Corpus {c['corpus']}", c["fingerprint"] or "no digest") for c in run["corpora"]),
        *(() if facts.privacy else _facts(facts)),
        *((name, _setting(value)) for name, value in settings.items()),
        ("Baseline", _baseline(facts) if base else "none"),
        ("Schema version", document["schema_version"]),
        ("Measured with", ", ".join(f"{name} {v}" for name, v in run["versions"].items())),
        ("Package", package_version()),
        ("Git commit", commit() or "not run from a checkout"),
        ("Libraries", library_versions()),
    ]
    shown = ((visible(name, 80), visible(value, 400)) for name, value in rows)
    return made_from("The same run gives the same report", shown)


def _facts(facts: Facts) -> list[tuple[str, str]]:
    known = facts.run.document["run"]["retriever"]["facts"]
    return [
        (f"Retriever {name}", str(value))
        for name, value in known.items()
        if name != "corpora" and value is not None and not isinstance(value, dict | list)
    ][:20]


def _baseline(facts: Facts) -> str:
    block = members(members(facts.delta).get("baseline"))
    return f"{facts.baseline_name}; gold set {str(block.get('gold_fingerprint'))[:12]}"


def _setting(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
