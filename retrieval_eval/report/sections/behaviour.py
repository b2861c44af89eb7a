"""How agents got there: time to the first relevant file, use of what was found, error modes."""

from __future__ import annotations

from collections import Counter, defaultdict

from retrieval_eval.report import findings, gate_labels, tables
from retrieval_eval.report.exhibits import Block, Empty, Table, section
from retrieval_eval.report.figures import error_modes, ttfr, utilization
from retrieval_eval.report.names import LABELS
from retrieval_eval.report.numbers import finite, of
from retrieval_eval.report.run_view import Record, RunView, Task, mean, numbers, rows, task_of
from retrieval_eval.values import counted

MAX_MISSED = 15


def time_to_first(view: RunView) -> Block:
    """Return the share of tasks on which a relevant file was found by a time."""
    found = view.run.impact.time_to_first_relevant
    configs = list(view.run.configs)
    shares = []
    for config in configs:
        units = [f for f in found if f.config_name == config]
        widest = max(units, key=lambda f: f.n, default=None)
        if widest is not None:
            shares.append((config, widest.n_never, widest.n))
    figure = ttfr.draw(found, configs)
    table = [] if isinstance(figure, Empty) else [ttfr.table(found, configs)]
    counted_here = gate_labels.counted_trials(view.run.impact.let_through)
    return section(findings.never_hit(shares), figure, *table, sentences=counted_here)


def utilized(view: RunView) -> Block:
    """Return what became of the ground-truth files."""
    counts = {config: [0, 0, 0] for config in view.by_config}
    scored = {_key(t) for t in view.trials if finite(t["file_recall"]) is not None}
    for row in rows(view.run, "ground_truth"):
        if _key(row) not in scored:
            continue
        is_used = row["is_opened"] or row["is_written"]
        part = 0 if row["is_retrieved"] and is_used else 1 if row["is_retrieved"] else 2
        counts[str(row["config_name"])][part] += 1
    parts = {config: (a, b, c) for config, (a, b, c) in counts.items()}
    shares = [(c, p[0], sum(p)) for c, p in parts.items()]
    return section(findings.used(shares), utilization.draw(parts))


def probes(view: RunView) -> Block:
    """Return the utilization probes by config."""
    names = {
        "util_read_overlap_with_relevant_files": "Read overlap with relevant files",
        "util_write_overlap_with_relevant_files_proxy": "Write overlap, proxy",
        "util_write_overlap_with_expected_edit_files": "Write overlap with expected edits",
        "util_read_before_write_ratio": "Read before write",
        "chunk_recall": "Chunk recall (file match)",
    }
    if not view.by_config:
        return section("No trial was evaluated", Empty("probes", "There is no trial to probe."))
    table = tables.by_config(
        view.by_config,
        names,
        "probes",
        ("The write proxy means little on tasks that only ask a question.",),
    )
    overlaps = [
        (config, mean(values) or 0.0, len(values))
        for config, trials in view.by_config.items()
        if (values := numbers(trials, "util_read_overlap_with_relevant_files"))
    ]
    return section(findings.ranked("Mean read overlap", overlaps), table)


def modes(view: RunView) -> Block:
    """Return the error modes with their own denominators."""
    counts = {
        config: {
            label: (
                int(sum(numbers(trials, f"{label}:count"))),
                int(sum(numbers(trials, f"{label}:denominator"))),
            )
            for label in LABELS
        }
        for config, trials in view.by_config.items()
    }
    shares = [
        (c, part / whole, whole)
        for c, by in counts.items()
        for part, whole in [by["missed_key_evidence"]]
        if whole
    ]
    finding = findings.ranked("Share of ground-truth files missed", shares)
    return section(finding, error_modes.draw(counts))


def most_missed(view: RunView) -> Block:
    """Return the ground-truth files that most trials missed."""
    missed: Counter[tuple[Task, str]] = Counter()
    seen: Counter[tuple[Task, str]] = Counter()
    configs: dict[tuple[Task, str], set[str]] = defaultdict(set)
    scored = {_key(t) for t in view.trials if finite(t["file_recall"]) is not None}
    for row in rows(view.run, "ground_truth"):
        place = f"{row['repository']}: " if row["repository"] else ""
        key = (task_of(row), f"{place}{row['file']}")
        if _key(row) not in scored:
            continue
        seen[key] += 1
        if not row["is_retrieved"]:
            missed[key] += 1
            configs[key].add(str(row["config_name"]))
    if not missed:
        return section(
            "No ground-truth file was missed" if seen else "No trial has ground truth",
            Empty("missed", "There is no missed file to list."),
        )
    ordered = sorted(missed.items(), key=lambda item: (-item[1], item[0]))[:MAX_MISSED]
    everywhere = sum(missed[key] == seen[key] for key in missed)
    table = Table(
        "missed",
        f"Ground-truth files by the number of trials that missed them, first {len(ordered)}",
        ("File", "Task", "Missed in", "Configs"),
        tuple(
            (
                file,
                task[1],
                f"{of(n, seen[task, file])} trials",
                _where(configs[task, file], len(view.by_config)),
            )
            for (task, file), n in ordered
        ),
        ("left", "left", "right", "left"),
    )
    return section(
        f"{everywhere} of {counted(len(seen), 'ground-truth file')} missed by every trial", table
    )


def _where(configs: set[str], n_configs: int) -> str:
    return "all" if len(configs) == n_configs > 1 else ", ".join(sorted(configs))


def _key(row: Record) -> tuple[str, ...]:
    names = ("run_id", "config_name", "benchmark", "task_name", "trial_name")
    return tuple(str(row[n]) for n in names)
