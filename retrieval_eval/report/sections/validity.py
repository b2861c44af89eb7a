"""Whether the arms may be compared: the gate, and the way from all trials to the pairs used."""

from __future__ import annotations

from collections import defaultdict

from retrieval_eval.report import findings, gate_labels, tables_validity
from retrieval_eval.report.comparison import arms, ledgers
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.numbers import MISSING, of
from retrieval_eval.report.run_view import Record, RunView, task_of
from retrieval_eval.values import counted

ALONE = "There is only one configuration, so there is nothing to compare."


def gate(view: RunView) -> Block:
    """Return every rule with what it found, and the trials it found."""
    comparison = view.run.comparison
    if comparison is None:
        return section("There are no arms to check", Empty("gate", ALONE))
    found = comparison.gate
    removed = sum(rule.n_removed for rule in found.rules)
    unmatched = sum(sum(arm.unmatched.values()) for arm in ledgers(comparison))
    trials = tables_validity.found_table(found)
    return section(
        findings.gate(len(found.failed), len(found.rules), removed, unmatched),
        tables_validity.gate_table(found),
        *([trials] if trials else []),
        sentences=[gate_labels.failed_sentence(comparison, len(found.failed))]
        if found.failed
        else [],
    )


def ledger(view: RunView) -> Block:
    """Return the ledger from all trials of both arms to the pairs used."""
    comparison = view.run.comparison
    if comparison is None:
        return section("There are no arms to pair", Empty("pair-ledger", ALONE))
    used = " and ".join(
        f"{of(arm.used, arm.trials)} trials of {findings.name(config)}"
        for config, arm in zip(arms(comparison), ledgers(comparison), strict=True)
    )
    return section(
        f"{used} form {counted(comparison.n_pairs, 'matched task')}",
        tables_validity.ledger_table(comparison),
    )


def runs(view: RunView) -> Block:
    """Return what each run holds, by configuration."""
    groups: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for trial in view.trials:
        groups[str(trial["run_id"]), str(trial["config_name"])].append(trial)
    if not groups:
        return section("No trial was found", Empty("runs", "The runs hold no trial."))
    table = Table(
        "runs",
        "Trials by run and configuration",
        ("Run", "Configuration", "Trials", "Tasks", "Model", "Harness"),
        tuple(
            (
                run,
                config,
                str(len(trials)),
                str(len({task_of(t) for t in trials})),
                _values(trials, "model"),
                _values(trials, "harness", "harness_version"),
            )
            for (run, config), trials in sorted(groups.items())
        ),
        ("left", "left", "right", "right", "left", "left"),
        ("A configuration of several runs is shown as configuration@run.",),
    )
    names = {run for run, _ in groups}
    configs = counted(len({config for _, config in groups}), "configuration")
    return section(f"{counted(len(names), 'run')}, {configs}", table)


def _values(trials: list[Record], *columns: str) -> str:
    found = {" ".join(str(t[c]) for c in columns if t[c]) for t in trials}
    return ", ".join(sorted(filter(None, found))) or MISSING
