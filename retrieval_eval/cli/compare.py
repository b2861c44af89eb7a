"""``retrieval-eval compare``: whether one configuration is better than another."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

import click

from retrieval_eval.cli.common import (
    EXIT_NO_VERDICT,
    EXIT_REGRESSED,
    KeepUnchanged,
    chosen_design,
    design_options,
    echo,
    evaluation_options,
    json_option,
    print_json,
    print_table,
    processes,
    progress_bar,
)
from retrieval_eval.errors import NothingToEvaluateError
from retrieval_eval.escape import made_visible
from retrieval_eval.io.user_files import project
from retrieval_eval.model import to_builtins
from retrieval_eval.model.design import Clustering
from retrieval_eval.model.impact import (
    ArmLedger,
    ComparisonDocument,
    PairedEstimate,
    PairedStatistics,
)
from retrieval_eval.values import DEFAULT_SEED, counted

if TYPE_CHECKING:
    from retrieval_eval.agents.runs.comparison import SidesCompared

_MOST_NOTES: Final = 8

_NO_VERDICTS = frozenset({"no_verdict", "too_few_pairs", "fragile"})


@click.command()
@click.argument("sides", nargs=-1, required=True, metavar="A [B]")
@click.option(
    "--run", "runs", multiple=True, metavar="RUN", help="Run that holds A and B. Repeatable."
)
@click.option(
    "--mcp",
    "mcp_configs",
    multiple=True,
    metavar="CONFIG",
    help="Configuration that must use MCP, others not. Repeatable. Default: inferred.",
)
@design_options
@click.option("--metric", "headline", metavar="METRIC", help="What the verdict is about.")
@click.option("--alpha", type=float, help="Level of the test, below 0.5. Default: 0.05.")
@click.option("--margin", type=float, help="Largest difference that counts as none.")
@click.option(
    "--cluster",
    type=click.Choice(get_args(Clustering)),
    help="What tasks share that count together. Default: repository, else suite.",
)
@click.option(
    "--sequential", is_flag=True, help="Trials are still added: use intervals for every look."
)
@click.option(
    "--pilot", "is_pilot", is_flag=True, help="Only say how many tasks the next comparison needs."
)
@click.option(
    "--difference",
    type=float,
    help="With --pilot: the smallest that would change a decision; of cost, time and tokens a "
    "share. Default: 0.05, and a share of 0.2.",
)
@evaluation_options
@click.option("--report", "is_reported", is_flag=True, help="Also write a page about it.")
@click.option(
    "--verbose", "is_verbose", is_flag=True, help="Also print threats, rules and every metric."
)
@json_option
@click.pass_context
def compare(
    context: click.Context,
    sides: tuple[str, ...],
    runs: tuple[str, ...],
    mcp_configs: tuple[str, ...],
    design: Path | None,
    no_design: bool,
    headline: str | None,
    alpha: float | None,
    margin: float | None,
    cluster: Clustering | None,
    sequential: bool,
    is_pilot: bool,
    difference: float | None,
    benchmarks_root: Path | None,
    output_dir: Path | None,
    is_reported: bool,
    is_verbose: bool,
    as_json: bool,
) -> None:
    """Compare two configurations on the tasks both ran, after checking that they may be compared.

    A and B are two runs (RUN, or RUN:CONFIG where a run has several), or with --run two
    configurations of these. A is the baseline. One run alone compares all its configurations.

    Exit code 0: better, equivalent, not worse, or no detectable difference. 1: worse. 2: no
    verdict, because the arms are not comparable, too few tasks are matched, or a threat overturns
    the difference. 3: a run or configuration does not exist, or the design names what there is not.

    \b
    Examples:
      retrieval-eval compare my_run:baseline my_run:mcp --report
      retrieval-eval compare my_run:baseline my_run:mcp --pilot --difference 0.1
    """  # noqa: D301  click reads the control character
    from retrieval_eval.agents.runs.comparison import compare_sides
    from retrieval_eval.agents.runs.layout import DEMO, is_demo
    from retrieval_eval.agents.study.stated import text_of

    _check_pilot(is_pilot=is_pilot, is_reported=is_reported, difference=difference)
    design = chosen_design(runs or sides, design, no_design)
    stated = project()
    reports_dir = stated.reports_folder
    if is_reported and is_demo([*{name.partition(":")[0] for name in runs or sides}], None):
        # The place the page uses, so that the demo is not written twice.
        output_dir = output_dir or reports_dir / DEMO / "data"
    options: dict[str, Any] = {
        "benchmarks_root": benchmarks_root,
        "output_dir": output_dir,
        "jobs": processes(),
        "seed": DEFAULT_SEED,
    }
    overrides = {
        "headline": headline,
        "alpha": alpha,
        "margin": margin,
        "cluster": cluster,
        "is_sequential": sequential or None,
    }
    with progress_bar("trial") as progress:
        found = compare_sides(
            sides,
            runs=runs,
            design=design,
            overrides=overrides,
            mcp_configs=mcp_configs or None,
            progress=progress,
            **options,
        )
    impact = found.impact
    if is_pilot:
        context.exit(_print_needed(impact.comparisons, difference, as_json))
    if as_json:
        print_json(to_builtins(impact))
    else:
        for comparison in impact.comparisons:
            _print(comparison, is_verbose=is_verbose)
        if impact.groups:
            said = "; ".join(", ".join(group) for group in impact.groups)
            _print_text(f"no two of a group can be distinguished: {said}", 0)
        if impact.pairs_left_out is not None:
            echo(impact.pairs_left_out.sentence)
        if not impact.comparisons:
            echo("only one configuration: there is nothing to compare")
        for note in found.unused[:_MOST_NOTES]:
            _print_text(f"note: {note}", 2)
        if (n_more := len(found.unused) - _MOST_NOTES) > 0:
            echo(f"  {n_more} notes more: retrieval-eval evaluate")
    if is_reported:
        # Under --json the standard output is one document.
        keep = KeepUnchanged()
        more: dict[str, Any] = {
            **options,
            "mcp_configs": ",".join(mcp_configs),
            "renderer": stated.renderer,
            "keep": keep,
        }
        if found.design.arms or found.design.values:
            more["design"] = text_of(found.design)
        page = _write_report(found, reports_dir, more)
        keep.note()
        echo(page, err=as_json)
    context.exit(_exit_code(impact.comparisons))


def _write_report(found: SidesCompared, reports_dir: Path, options: dict[str, Any]) -> Path:
    from retrieval_eval.report import build

    baseline, comparison = found.pair or ("", "")
    with progress_bar("cell") as progress:
        return build(
            found.runs,
            is_compared=True,
            reports_dir=reports_dir,
            baseline_config=baseline,
            mcp_config=comparison,
            separate_runs=found.is_by_run,
            progress=progress,
            **options,
        )


def _check_pilot(*, is_pilot: bool, is_reported: bool, difference: float | None) -> None:
    if difference is not None and not is_pilot:
        raise click.UsageError("--difference is what the next comparison is to see; add --pilot")
    if is_pilot and is_reported:
        raise click.UsageError("--pilot compares nothing, so there is no page; drop --report")


def _print_needed(
    comparisons: Sequence[ComparisonDocument], difference: float | None, as_json: bool
) -> int:
    """Print how many tasks each pair's next comparison needs, and return the exit code."""
    from retrieval_eval.agents.study.pilot import tasks_needed

    if not comparisons:
        raise NothingToEvaluateError("only one configuration: there is no spread between two")
    needed = [tasks_needed(comparison, difference=difference) for comparison in comparisons]
    if as_json:
        print_json({"needed": [asdict(found) for found in needed]})
        return 0
    for found in needed:
        echo(f"{found.comparison_config} against {found.baseline_config}")
        for text in filter(None, (found.sentence(), found.note)):
            _print_text(text, 2)
    return 0


def _exit_code(comparisons: Sequence[ComparisonDocument]) -> int:
    verdicts = {comparison.verdict for comparison in comparisons}
    if "worse" in verdicts:
        return EXIT_REGRESSED
    return EXIT_NO_VERDICT if not verdicts or verdicts & _NO_VERDICTS else 0


def _print(comparison: ComparisonDocument, *, is_verbose: bool) -> None:
    """Print a comparison in a few lines; ``is_verbose`` also what they rest on."""
    from retrieval_eval.agents.study.compare import Comparison
    from retrieval_eval.agents.study.threats import threat_title
    from retrieval_eval.report.displays import lines_of
    from retrieval_eval.report.words import sentence

    study = Comparison(comparison.baseline_config, comparison.comparison_config, comparison)
    more = "" if is_verbose else "--verbose, --report, --json"
    for line in lines_of(study, more=more):
        echo(line)
    if not is_verbose:
        return
    echo("")
    for threat in study.record.threats:
        if not comparison.gate.failed or threat.effect == "withholds":
            _print_point(threat.effect, f"{threat_title(threat.name)}: {sentence(threat.sentence)}")
    _print_design(comparison)
    echo("")
    for rule in comparison.gate.rules:
        if rule.count:
            state = "FAILED" if rule.failed else "noted"
            detail = f"; {rule.detail}" if rule.detail else ""
            echo(f"  {state} {rule.name}: {rule.count} found, {rule.n_removed} removed{detail}")
    _print_arm("baseline", comparison.ledger.baseline)
    _print_arm("comparison", comparison.ledger.comparison)
    echo(f"  matched tasks: {comparison.n_pairs}")
    for flip in comparison.flips:
        echo(f"  depends on the view: {flip.sentence}")
    if comparison.computable and comparison.gate.passed:
        by_suite = {f"reward, {row.benchmark}": row for row in comparison.reward_by_suite}
        _print_metrics({**comparison.metrics, **by_suite}, comparison)


def _print_design(comparison: ComparisonDocument) -> None:
    """Print what the arms are meant to do, the clusters, and every other part that was stated."""
    from retrieval_eval.agents.study.frames import design_rows

    head = "design"
    for row in design_rows(comparison):
        source = str(row["source"])
        is_stated = not source.startswith(("default", "inferred"))
        if is_stated or row["field"] in ("baseline", "comparison", "cluster"):
            label = row["label"].partition(": ")[2] or row["label"]
            value = row["value"] or "no tool is required or forbidden"
            _print_point(head, f"{label}: {value} ({source})")
            head = ""


_LABEL: Final = 14
"""Columns that the word before a sentence takes."""

_WIDTH: Final = 100
"""Columns of a sentence with its word."""


def _print_text(text: str, indent: int) -> None:
    """Print a sentence in lines of so many columns."""
    for line in textwrap.wrap(made_visible(text), _WIDTH - indent):
        echo(f"{' ' * indent}{line}")


def _print_point(label: str, text: str) -> None:
    """Print a sentence after a word that says what it is about, its lines below each other."""
    lines = textwrap.wrap(made_visible(text), _WIDTH - _LABEL - 3) or [""]
    for head, line in zip_longest([label], lines, fillvalue=""):
        echo(f"    {head:{_LABEL}} {line}")


def _print_arm(side: str, row: ArmLedger) -> None:
    without = sum(row.outcomes_only.values())
    echo(
        f"  {side}: {counted(row.trials, 'trial')} = {sum(row.removed.values())} removed "
        f"+ {sum(row.unmatched.values())} unmatched + {row.used} used"
        + (f" ({without} of these without ground truth: outcomes only)" if without else "")
        + (
            f"; MCP answered in {row.mcp_answered} of {row.ran} that ran"
            if row.mcp_answered is not None
            else ""
        )
    )


def _print_metrics(metrics: Mapping[str, PairedEstimate], comparison: ComparisonDocument) -> None:
    from retrieval_eval.agents.study.verdict import deciding_estimate
    from retrieval_eval.report import words
    from retrieval_eval.report.names import p_value
    from retrieval_eval.report.table.estimates import estimate_notes, metric_cells

    known = {name.partition(",")[0]: block for name, block in metrics.items()}
    interval = words.interval_name(comparison)
    rows = [["  metric", "estimate", interval, "n", "A", "B", "w/t/l", "p", "p (Holm)"]]
    for name, block in metrics.items():
        first, *more = metric_cells(name.partition(",")[0], block)
        # The adjusted p is of the test at a single look.
        is_planned = block.always_method is None
        holm = block.p_holm if is_planned and isinstance(block, PairedStatistics) else None
        tests = [p_value(deciding_estimate(block).p), p_value(holm)]
        rows.append([f"  {name}", *first[1:], *tests])
        rows += [[f"    {label}", *cells, "", ""] for label, *cells in more]
    echo("")
    print_table(rows)
    for note in estimate_notes(known, words.alpha_of(comparison)):
        _print_text(note, 2)
