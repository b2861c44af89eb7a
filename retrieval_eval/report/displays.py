"""How the results of a study show themselves in a notebook: as the report does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from retrieval_eval.agents.study.compare import Comparison
from retrieval_eval.agents.study.frames import DISPLAYS
from retrieval_eval.agents.study.trials import average, known_values
from retrieval_eval.model.impact import ComparisonDocument
from retrieval_eval.report import words
from retrieval_eval.report.exhibits import Block, Table, strip
from retrieval_eval.report.names import HEADLINE_METRICS, metric_name
from retrieval_eval.report.numbers import count, of
from retrieval_eval.report.registered import Exhibit, table
from retrieval_eval.report.simulated import notice
from retrieval_eval.report.table.estimates import (
    doubt_notes,
    header_of,
    metric_cells,
    missing_notes,
)
from retrieval_eval.stats.paired import MIN_PAIRS

if TYPE_CHECKING:
    from retrieval_eval.agents.study.trials import Trial
    from retrieval_eval.report.run import Run

STATUS = "standalone · non-ranking · association only"


def run_header(run: Run) -> Block:
    """Return what a run is about, and its integrity: counts of what was found and left out."""
    trials = run.trials
    columns = {"Suites": "benchmark", "Model": "model", "Harness": "harness"}
    facts = {
        "Runs" if len(run.run_ids) > 1 else "Run": _names(run.run_ids),
        "Filtered": run.part.sentence if run.part else "",
        "Configurations": _names(run.configs),
        **{
            label: _names(sorted(set(trials[column].dropna()) - {""}))
            for label, column in columns.items()
        },
        "Status": STATUS,
    }
    said = notice(run.n_simulated, len(run.trial_files), "trial", "agent")
    return strip(said, facts, integrity(run))


def _names(names: Sequence[str], limit: int = 4) -> str:
    shown = ", ".join(words.name(n, 48) for n in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown


def integrity(run: Run) -> Table:
    """Return what was found, measured and left out by configuration; the first columns add up.

    The columns behind the sum overlap: a trial that ended with an error may be measured.
    """
    trials = run.trials
    measured = trials["file_recall"].notna()
    is_compacted = trials["quality_flags"].map(
        lambda found: any("compacted" in flag for flag in found)
    )
    is_cut = trials["degraded_reason"].notna() & trials["degraded_sources"].map(
        lambda sources: not sources or "trace" in sources
    )
    unknown = "configuration unknown"
    left = run.excluded["config_name"].fillna(unknown)
    configs = [*run.configs, *(c for c in sorted(set(left)) if c not in run.configs)]
    parts: dict[str, Iterable[Any]] = {
        "Found": [*trials["config_name"], *left],
        "Left out": left,
        "Not measured": trials["config_name"][~measured],
        "Measured": trials["config_name"][measured],
    }
    also = {
        "With an error": trials["has_exception"].fillna(value=False),
        "Incomplete trace": is_cut,
        "Compacted": is_compacted,
        "No reward": trials["reward"].isna(),
        "No cost": trials["cost_usd"].isna(),
    }
    parts |= {label: trials["config_name"][mask.astype(bool)] for label, mask in also.items()}
    counted = [Counter[str](map(str, found)) for found in parts.values()]
    body = [(config, *(count(found[config]) for found in counted)) for config in configs]
    if len(configs) > 1:
        body.append(("All", *(count(found.total()) for found in counted)))
    return Table(
        "integrity",
        "Run integrity: trials and folders found = left out + not measured + measured",
        ("Configuration", *parts),
        tuple(body),
    )


@DISPLAYS.register("comparison")
def comparison(study: Comparison) -> dict[str, str]:
    """Return the answer box as a notebook takes it."""
    return answer_box(study)._repr_mimebundle_()


def answer_box(study: Comparison) -> Block:
    """Return the answer: a title, a few points, and one table."""
    said = words.answer(study)
    badges = tuple(
        (k, v) for k, v in (("Completeness", words.coverage(study)), _leading(study)) if v
    )
    table = _shown(study)
    return Block("answer", said.title, said.sentences, (table,), badges, said.tone, said.points)


def _leading(study: Comparison) -> tuple[str, str]:
    """Return which of several pairs of configs the answer is about; nothing when there is one."""
    n = len({trial.config_name for trial in study.trials})
    if not study.comparison or n < 3:
        return ("Answer on", "")
    baseline, other = map(words.name, words.arms(study.record))
    pairs = n * (n - 1) // 2
    return ("Answer on", f"{other} against {baseline}, one of {pairs} pairs of configurations")


def _shown(study: Comparison) -> Table:
    """Return the table of the first screen; none that invites a comparison that cannot be made."""
    record = study.record
    if not study.comparison:
        return _means(study.trials)
    if record.gate.failed:
        return _failed_rules(study)
    result = record.metrics.get(record.verdict_metric)
    return headline(record) if result is not None and result.n_pairs >= MIN_PAIRS else _way(study)


def headline(record: ComparisonDocument, metrics: Sequence[str] = HEADLINE_METRICS) -> Table:
    """Return one row a metric: leading estimate, interval, tasks, means, better/same/worse.

    Metrics that cannot tell the configurations apart leave the table and are named below it.
    """
    shown, left = _discriminating(record, metrics)
    estimates = {m: record.metrics[m] for m in shown if m in record.metrics}
    out = [f"Left out, unable to tell the two apart: {', '.join(left)}."] if left else []
    # What stands below a metric in its table is left to that table, or to a threat.
    rows = [metric_cells(m, estimates.get(m))[0] for m in shown]
    return Table(
        "headline",
        "Paired estimates over matched tasks",
        header_of(*words.arms(record), words.interval_name(record)),
        tuple(rows),
        notes=(
            *doubt_notes(estimates, words.alpha_of(record), {record.verdict_metric}),
            *missing_notes(estimates),
            *words.grouped(record),
            *words.adjusted(record),
            *out,
        ),
    )


def _discriminating(
    record: ComparisonDocument, metrics: Iterable[str]
) -> tuple[list[str], list[str]]:
    """Return the metrics that stay, and those that leave with the reason.

    The verdict's metric always stays; a redundant one leaves only when the metric it repeats
    stays, so that nothing is lost.
    """
    shown, left = [], []
    for metric in dict.fromkeys((record.verdict_metric, *metrics)):
        found = words.discrimination_of(record, metric)
        is_repeat = found is not None and found.status == "redundant" and found.with_ in shown
        is_constant = found is not None and found.status in words.UNABLE
        if found is None or metric == record.verdict_metric or not (is_constant or is_repeat):
            shown.append(metric)
            continue
        like = f"repeats {metric_name(found.with_ or '').label}" if is_repeat else found.status
        left.append(f"{metric_name(metric).label} ({like})")
    return shown, left


def _failed_rules(study: Comparison) -> Table:
    gate = study.gate
    failed = gate[gate["failed"]]
    details = zip(failed["title"], failed["detail"], strict=True)
    return _as_headline(
        table.show(
            failed,
            ["title", "meaning", "count", "n_removed", "share_removed"],
            caption="Rules that the configurations failed; each withholds the verdict",
            notes=[f"{title}: {detail}." for title, detail in details if detail],
        )
    )


def _way(study: Comparison) -> Table:
    """Return the way from all trials to the pairs used."""
    sides = words.arms(study.record)
    rows = study.ledger.pivot_table(index="label", columns="arm", values="n", sort=False)
    rows = rows.reindex(columns=list(sides)).fillna(0)
    return _as_headline(
        table.show(
            rows.reset_index(),
            formats=dict.fromkeys(sides, "count"),
            header={"label": "Trials", **{side: side for side in sides}},
            caption="From all trials to the pairs used; every trial is removed, not matched or "
            "used",
            notes=words.pairs_formed(study.record),
        )
    )


def _as_headline(shown: Exhibit) -> Table:
    (found,) = shown.block().exhibits
    assert isinstance(found, Table)
    return replace(found, key="headline")


def _means(trials: Sequence[Trial]) -> Table:
    """Return the mean of every headline metric over the trials of the one configuration."""
    body = []
    for metric in HEADLINE_METRICS:
        known, n = metric_name(metric), len(known_values(trials, metric))
        mean = known.value(average(trials, metric))
        body.append((known.titled, f"{mean} ({of(n, len(trials))})"))
    config = trials[0].config_name if trials else ""
    caption = "Mean over the trials of the configuration (trials with a value of all)"
    return Table("headline", caption, ("Metric", config), tuple(body))
