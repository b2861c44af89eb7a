"""Two sides named on a command line or in a notebook, compared over their runs."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retrieval_eval.errors import BadInputError
from retrieval_eval.impact import impact_analysis
from retrieval_eval.pipeline.evaluate import Evaluation, evaluate
from retrieval_eval.schema import now, stamped

Document = Mapping[str, Any]


def compare_sides(
    sides: Sequence[str], *, runs: Sequence[str] = (), seed: int, **options: Any
) -> dict[str, Any]:
    """Evaluate what is missing and return the impact document of the comparison asked for.

    Parameters
    ----------
    sides
        With ``runs``: two configurations, the baseline first. Without: two runs, each ``RUN`` or
        ``RUN:CONFIG`` (needed where a run has several configurations); or one run, whose
        configurations are all compared.
    runs
        Runs that hold both configurations.
    options
        As for :func:`retrieval_eval.evaluate`.

    Raises
    ------
    BadInputError
        When a side names no run or configuration; the message lists those there are.
    NothingToEvaluateError
        When no run holds a trial.
    """
    if runs:
        if len(sides) != 2:
            raise BadInputError("with --run, name two configurations: the baseline, then the other")
        evaluation = evaluate(list(runs), seed=seed, **options)
        documents = [d.metrics for run in evaluation.runs for d in run.trials]
        pair = (_config(sides[0], documents), _config(sides[1], documents))
        return _analyse(documents, [pair], seed)
    if len(sides) > 2:
        raise BadInputError("name one run or two sides; several runs of one study go to --run")
    named = [_split(side) for side in sides]
    names = list(dict.fromkeys(name for name, _ in named))
    evaluation = evaluate(names, seed=seed, **options)
    if len(sides) == 1 and named[0][1] is None:
        return _analyse(_documents(evaluation, 0), None, seed)
    if len(sides) == 1:
        raise BadInputError("name two sides, such as RUN:CONFIG RUN:OTHER")
    return _compare_runs(evaluation, named, names, seed)


def _compare_runs(
    evaluation: Evaluation,
    named: Sequence[tuple[str, str | None]],
    names: Sequence[str],
    seed: int,
) -> dict[str, Any]:
    chosen: list[list[Document]] = []
    configs: list[str] = []
    for name, config in named:
        documents = _documents(evaluation, names.index(name))
        configs.append(
            _only_config(name, documents) if config is None else _config(config, documents)
        )
        chosen.append([d for d in documents if _config_of(d) == configs[-1]])
    if configs[0] == configs[1]:
        runs = [evaluation.runs[names.index(name)].run_id for name, _ in named]
        if runs[0] == runs[1]:
            raise BadInputError(f"both sides are {configs[0]} of {runs[0]}")
        configs = [f"{config}@{run}" for config, run in zip(configs, runs, strict=True)]
        chosen = [
            [_relabelled(d, c) for d in side] for side, c in zip(chosen, configs, strict=True)
        ]
    return _analyse([*chosen[0], *chosen[1]], [(configs[0], configs[1])], seed)


def _analyse(
    documents: Sequence[Document], pairs: Sequence[tuple[str, str]] | None, seed: int
) -> dict[str, Any]:
    return stamped(impact_analysis(documents, seed=seed, pairs=pairs), now())


def _documents(evaluation: Evaluation, number: int) -> list[Document]:
    return [done.metrics for done in evaluation.runs[number].trials]


def _split(side: str) -> tuple[str, str | None]:
    """Split ``RUN:CONFIG``; a path that exists is a run, whatever colons it holds."""
    name, colon, config = side.rpartition(":")
    if not colon or Path(side).is_dir():
        return side, None
    return name, config


def _config_of(document: Document) -> str:
    return str(document["provenance"]["config_name"])


def _config(name: str, documents: Sequence[Document]) -> str:
    known = sorted({_config_of(d) for d in documents})
    if name in known:
        return name
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    ordered = [*near, *(config for config in known if config not in near)]
    raise BadInputError(f"no configuration {name!r}; there are: {', '.join(ordered)}")


def _only_config(run: str, documents: Sequence[Document]) -> str:
    known = sorted({_config_of(d) for d in documents})
    if len(known) == 1:
        return known[0]
    if not known:
        raise BadInputError(f"run {run} holds no trial")
    raise BadInputError(
        f"run {run} has several configurations; name one as {run}:CONFIG ({', '.join(known)})"
    )


def _relabelled(document: Document, config: str) -> Document:
    return {**document, "provenance": {**document["provenance"], "config_name": config}}
