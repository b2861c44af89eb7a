"""Two sides named on a command line or in a notebook, compared over their runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from retrieval_eval.agents.metrics.document import TrialMetrics
from retrieval_eval.agents.runs.evaluate import Evaluation, evaluate
from retrieval_eval.agents.runs.layout import default_runs_root
from retrieval_eval.agents.study import impact_analysis
from retrieval_eval.agents.study.arms import config_named, configs_stated, pair_meant
from retrieval_eval.agents.study.stated import Given, Stated, checked, stated_from
from retrieval_eval.agents.study.trials import trials_of
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import probe
from retrieval_eval.io.layout import is_folder, resolve_runs, split_run
from retrieval_eval.io.remote import is_url
from retrieval_eval.model.impact import ImpactAnalysis


@dataclass(frozen=True, slots=True)
class SidesCompared:
    """The impact document of a comparison, and what a report over the same runs needs to know.

    ``design`` is what was stated of the design. ``runs`` are the runs, each once. ``pair`` names
    the two configurations as the document does, or is None when every pair is compared.
    ``is_by_run`` says whether a configuration that several runs have is labelled by run; otherwise
    its trials are repeats. ``unused`` says what of the runs was left out or stated in vain.
    """

    impact: ImpactAnalysis
    runs: tuple[str, ...]
    pair: tuple[str, str] | None
    is_by_run: bool
    design: Stated = Stated()  # noqa: RUF009
    unused: tuple[str, ...] = ()


def compare_sides(
    sides: Sequence[str],
    *,
    runs: Sequence[str] = (),
    design: Given = None,
    overrides: Mapping[str, Any] | None = None,
    mcp_configs: Sequence[str] | None = None,
    seed: int,
    **options: Any,
) -> SidesCompared:
    """Evaluate what is missing and return the requested comparison.

    Parameters
    ----------
    sides
        With ``runs``: two configurations, the baseline first. Without: two runs, each ``RUN`` or
        ``RUN:CONFIG`` (needed where a run has several configurations); or one run, whose
        configurations are all compared.
    runs
        Runs that hold both configurations.
    design
        What was meant, as for :func:`retrieval_eval.compare`; by default inferred.
    overrides
        Fields of the design that are stated whatever it says, such as ``alpha``; None is nothing.
    mcp_configs
        The configurations that must use MCP, the others being meant not to; by default what their
        trials used says it.
    options
        As for :func:`retrieval_eval.evaluate`.

    Raises
    ------
    BadInputError
        When a side names no run or configuration, or the design what there is not; the message
        lists those there are.
    NothingToEvaluateError
        When no run holds a trial.
    """
    if runs and len(sides) != 2:
        raise BadInputError("with --run, name two configurations: the baseline, then the other")
    if not runs and len(sides) > 2:
        raise BadInputError("name one run or two sides; several runs of one study go to --run")
    named = [] if runs else [_split(side) for side in sides]
    if len(named) == 1 and named[0][1] is not None:
        raise BadInputError("name two sides, such as RUN:CONFIG RUN:OTHER")
    folders = [name for name, _ in named] or list(runs)
    stated = stated_from(design).overridden(**(overrides or {}))
    if runs:
        evaluation = evaluate(list(runs), seed=seed, **options)
        pooled = [metrics for run in evaluation.runs for metrics in run.metrics]
        pair = (_config(sides[0], pooled), _config(sides[1], pooled))
        if pair[0] == pair[1]:
            raise BadInputError(f"both sides are {pair[0]}")
        names = tuple(dict.fromkeys(runs))
        impact = analyse(pooled, [pair], seed, mcp_configs, stated)
        return SidesCompared(impact, names, pair, False, stated, evaluation.unused)
    places, names = _places(folders, options.get("runs_root"))
    evaluation = evaluate(names, seed=seed, **options)
    if len(sides) == 1:
        every = _documents(evaluation, 0)
        meant = None
        if stated.family != "all_pairs" and every:
            own = trials_of(every)
            meant = pair_meant(checked(stated, own), sorted({_config_of(d) for d in every}))
        impact = analyse(every, None if meant is None else [meant], seed, mcp_configs, stated)
        return SidesCompared(impact, names, meant, True, stated, evaluation.unused)
    chosen = [
        _side(evaluation, place, name, config)
        for place, (name, config) in zip(places, named, strict=True)
    ]
    pair = (chosen[0][0], chosen[1][0])
    if pair[0] == pair[1]:
        raise BadInputError(f"both sides are {pair[0]} of {evaluation.runs[places[0]].run_id}")
    trials = [document for _, side in chosen for document in side]
    known = {config for run in evaluation.runs for config in run.summary.configs}
    impact = analyse(trials, [pair], seed, mcp_configs, stated, known=known)
    return SidesCompared(impact, names, pair, True, stated, evaluation.unused)


def _places(names: Sequence[str], runs_root: Path | None) -> tuple[list[int], tuple[str, ...]]:
    """Return which of the distinct runs each name means, and a name for each of these."""
    if len(set(names)) == 1:
        return [0] * len(names), (names[0],)
    folders = [
        name
        if is_url(name)
        else Path(name).absolute()
        if probe(Path(name).is_file)
        else resolve_runs([name], runs_root or default_runs_root())[0]
        for name in names
    ]
    distinct = dict(zip(reversed(folders), reversed(names), strict=True))
    ordered = list(dict.fromkeys(folders))
    return [ordered.index(f) for f in folders], tuple(distinct[f] for f in ordered)


def _side(
    evaluation: Evaluation, place: int, name: str, config: str | None
) -> tuple[str, list[TrialMetrics]]:
    """Return the label and the trials of one configuration of a run."""
    trials = _documents(evaluation, place)
    own = _only_config(name, trials) if config is None else _config(config, trials)
    held = [set(run.summary.configs) for run in evaluation.runs]
    label = run_labels([run.run_id for run in evaluation.runs], held)[place].get(own, own)
    return label, [relabelled(d, label) for d in trials if _config_of(d) == own]


def run_labels(run_ids: Sequence[str], configs: Sequence[set[str]]) -> list[dict[str, str]]:
    """Return for each run the new name of every configuration that another run has too.

    Examples
    --------
    >>> run_labels(["a", "b"], [{"base"}, {"base", "mcp"}])
    [{'base': 'base@a'}, {'base': 'base@b'}]
    """
    runs_with = Counter(config for held in configs for config in held)
    repeated = Counter(run_ids)
    unique = [f"{n}#{i}" if repeated[n] > 1 else n for i, n in enumerate(run_ids, start=1)]
    return [
        {config: f"{config}@{name}" for config in sorted(held) if runs_with[config] > 1}
        for held, name in zip(configs, unique, strict=True)
    ]


def analyse(
    trials: Sequence[TrialMetrics],
    pairs: Sequence[tuple[str, str]] | None,
    seed: int,
    mcp_configs: Sequence[str] | None,
    design: Given = None,
    *,
    known: Collection[str] = (),
) -> ImpactAnalysis:
    """Return the impact document over some trials, of all pairs or those given.

    ``design`` and ``mcp_configs`` are as for :func:`compare_sides`; a configuration that several
    runs have may be named with its run or without. ``known`` are further configurations that a
    design may name.

    Raises
    ------
    BadInputError
        When ``mcp_configs`` or the design names no configuration of the trials.
    """
    stated = configs_stated(mcp_configs, sorted({_config_of(d) for d in trials}))
    meant = stated_from(design)
    if trials and (meant.arms or meant.values):
        meant = checked(meant, trials_of(trials), known)
    return impact_analysis(trials, seed=seed, pairs=pairs, design=meant, mcp_configs=stated)


def _documents(evaluation: Evaluation, number: int) -> list[TrialMetrics]:
    return evaluation.runs[number].metrics


def _split(side: str) -> tuple[str, str | None]:
    """Split ``RUN:CONFIG``; a path that exists is a run, whatever colons it holds."""
    *name, config = split_run(side)
    if not name or is_folder(side) or probe(Path(side).is_file):
        return side, None
    return ":".join(name), config


def _config_of(trial: TrialMetrics) -> str:
    return trial.provenance.config_name


def _config(name: str, trials: Sequence[TrialMetrics]) -> str:
    return config_named(name, sorted({_config_of(d) for d in trials}))


def _only_config(run: str, trials: Sequence[TrialMetrics]) -> str:
    known = sorted({_config_of(d) for d in trials})
    if len(known) == 1:
        return known[0]
    if not known:
        raise BadInputError(f"run {run} holds no trial")
    raise BadInputError(
        f"run {run} has several configurations; name one as {run}:CONFIG ({', '.join(known)})"
    )


def relabelled(trial: TrialMetrics, config: str) -> TrialMetrics:
    """Return the metrics of a trial under another name of its configuration."""
    return replace(trial, provenance=replace(trial.provenance, config_name=config))
