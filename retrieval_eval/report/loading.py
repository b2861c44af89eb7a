"""From names of runs and of search runs to frames: evaluate what is missing, read the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from retrieval_eval.agents.metrics import DEFAULT_K
from retrieval_eval.agents.runs.comparison import analyse, relabelled, run_labels
from retrieval_eval.agents.runs.evaluate import Evaluation, evaluate
from retrieval_eval.agents.study.stated import Given, Stated, stated_from, text_of
from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import probe, read_json
from retrieval_eval.io.remote import is_url
from retrieval_eval.io.user_files import DATA
from retrieval_eval.model import to_builtins
from retrieval_eval.model.impact import ImpactAnalysis
from retrieval_eval.model.search_run import SearchRun as StoredRun
from retrieval_eval.report.filtering import Where
from retrieval_eval.report.query_pages import Places, shown_names
from retrieval_eval.report.run import Run
from retrieval_eval.report.search_diff import SearchDiff
from retrieval_eval.report.search_run import Relabelled, SearchRun
from retrieval_eval.search.change import DEFAULT_FLAG_POINTS, diff
from retrieval_eval.search.change.anew import read_relabelled
from retrieval_eval.search.change.baseline import DEFAULT_BASELINE, compare_with_baseline
from retrieval_eval.search.decide.guard.files import guard_of
from retrieval_eval.search.decide.guard.justification import read_justifications
from retrieval_eval.search.decide.noise import read_noise
from retrieval_eval.search.decide.thresholds import read_thresholds
from retrieval_eval.search.demo import DEMO, DEMO_OUTPUT, MeasuredDemo, is_demo, measured_demo
from retrieval_eval.search.gold import load_gold_set
from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.search.gold.database import STATUSES, BacklogSource, read_backlog
from retrieval_eval.search.gold.identity import read_pinned
from retrieval_eval.search.gold.relabel import read_mapping
from retrieval_eval.search.run.document import load_search_run, named_run
from retrieval_eval.values import DEFAULT_SEED

if TYPE_CHECKING:
    import pandas as pd

PathLike = str | Path | None
T = TypeVar("T")
BACKLOG: Final = (*STATUSES, "other")
"""The states of a review item that are counted."""
_loaded: dict[str, Run] | None = None


def keep_loaded() -> None:
    """From now on return a run that was loaded before; nothing in it can change.

    For a process that makes many pages of one run, and ends before anything is evaluated anew.
    """
    global _loaded  # noqa: PLW0603  one process, one such choice
    _loaded = _loaded or {}


@contextmanager
def kept_loaded() -> Iterator[None]:
    """Do as :func:`keep_loaded` until the end of the block, which evaluates nothing anew either."""
    global _loaded  # noqa: PLW0603
    before, _loaded = _loaded, {} if _loaded is None else _loaded
    try:
        yield
    finally:
        _loaded = before


def load_run(
    run_ids: str | Path | Sequence[str | Path] | pd.DataFrame,
    *,
    runs_root: PathLike = None,
    benchmarks_root: PathLike | pd.DataFrame = None,
    output_dir: PathLike = None,
    baseline_config: str | None = None,
    mcp_config: str | None = None,
    k_values: Sequence[int] = DEFAULT_K,
    seed: int = DEFAULT_SEED,
    separate_runs: bool = False,
    mcp_configs: str | Sequence[str] = (),
    design: Given = None,
    jobs: int = 1,
    executor: str | None = None,
    progress: Callable[[int, int, str], None] | None = None,
    where: Where | None = None,
    privacy: bool = False,
    trial_pages_at: str = "",
    details_at: str = "",
) -> Run:
    """Return one or several runs as data frames, evaluating what is missing.

    Parameters
    ----------
    run_ids
        Run ids, paths or URLs; a text may hold several, separated by commas. Or a frame of trials,
        as a table states them (``benchmarks_root`` may be one of truth). The id ``demo``
        without ``runs_root`` writes the built-in demonstration and reads that.
    runs_root, benchmarks_root, output_dir
        As for :func:`retrieval_eval.evaluate`; empty text counts as None. The demonstration goes
        to ``output_dir`` too, by default to ``reports/demo/data``.
    baseline_config, mcp_config
        The two configs to compare; by default the pair that shares most tasks.
    separate_runs
        Tell a config that several runs have apart by run, as ``config@run``, so that the runs are
        compared; by default its trials count as repeats of one config.
    mcp_configs
        The configs that are meant to use MCP, the others being meant not to; a text may hold
        several, separated by commas. By default what the trials of each used says it.
    design
        What was meant, as for :func:`retrieval_eval.compare`; by default, and for the empty text,
        it is inferred.
    k_values, seed, jobs, executor, progress
        As for :func:`retrieval_eval.evaluate`.
    where
        Only the trials that pass a condition, as for :meth:`Run.filter`; all are evaluated. The
        empty text is no condition.
    privacy
        Leave out the arguments of tools, which hold prompts, commands and file content.
    trial_pages_at
        The folder of the pages of its trials, relative to that of the run, where ``trials["page"]``
        then leads; empty where there are none.
    details_at
        The page of details, relative to that of the run; empty where there is none.

    Returns
    -------
    Run
        The frames of :data:`retrieval_eval.report.columns.FRAMES`, each built when first asked
        for and handed out as a copy: ``trials``, ``events``, ``pairs``, ``gate`` and others.

    Raises
    ------
    BadInputError
        When a run, root, config or setting does not exist or is of the wrong kind, or no trial
        passes the condition.
    NothingToEvaluateError
        When no run holds a trial.
    """
    names: list[Any] = [run_ids] if hasattr(run_ids, "to_dict") else split_run_ids(run_ids)
    truth: Any = benchmarks_root
    is_frame = hasattr(truth, "to_dict")
    truth = truth if is_frame else _path(truth)
    meant = stated_from(design or None)
    parameters: dict[str, Any] = {
        "k_values": list(k_values),
        "seed": seed,
        "baseline_config": baseline_config or None,
        "mcp_config": mcp_config or None,
        "runs_root": runs_root or None,
        "benchmarks_root": None if is_frame else benchmarks_root or None,
        "output_dir": output_dir or None,
    }
    stated = _names(mcp_configs)
    if stated:
        parameters["mcp_configs"] = stated
    if meant.arms or meant.values:
        parameters["design"] = str(design) if isinstance(design, str | Path) else text_of(meant)
    key = repr((names, separate_runs, {name: str(value) for name, value in parameters.items()}))
    # Two frames may print alike.
    kept = None if is_frame or hasattr(run_ids, "to_dict") else _loaded
    run = None if kept is None else kept.get(key)
    if run is None:
        evaluation = evaluate(
            names,
            runs_root=_path(runs_root),
            benchmarks_root=truth,
            output_dir=_path(output_dir),
            k_values=_whole_numbers(k_values),
            jobs=jobs,
            executor=executor or None,
            seed=_whole_numbers([seed])[0],
            progress=progress,
        )
        new_names = _names_by_run(evaluation) if separate_runs else None
        run = Run(
            [run.folder for run in evaluation.runs],
            baseline_config=baseline_config,
            mcp_config=mcp_config,
            parameters=parameters,
            impact=_impact(evaluation, new_names, stated, meant),
            new_names=new_names,
            traces=[done.job.trial for own in evaluation.runs for done in own.trials],
        )
        if kept is not None:
            kept[key] = run
    if privacy or trial_pages_at or details_at:
        run = run.shown(privacy, trial_pages_at, details_at)
    is_whole = where is None or (isinstance(where, str) and not where.strip())
    return run if where is None or is_whole else run.filter(where)


def _impact(
    evaluation: Evaluation,
    new_names: Sequence[Mapping[str, str]] | None,
    mcp_configs: Sequence[str],
    design: Stated,
) -> ImpactAnalysis | None:
    """Return the analysis over all runs; None for the one that a single run has on disk."""
    names = new_names or [{} for _ in evaluation.runs]
    if any(names) or mcp_configs or design.arms or design.values:
        trials = [
            relabelled(metrics, own.get(config := metrics.provenance.config_name, config))
            for run, own in zip(evaluation.runs, names, strict=True)
            for metrics in run.metrics
        ]
        known = {config for run in evaluation.runs for config in run.summary.configs}
        return analyse(trials, None, evaluation.seed, mcp_configs or None, design, known=known)
    return evaluation.impact if len(evaluation.runs) > 1 else None


def _names_by_run(evaluation: Evaluation) -> list[dict[str, str]]:
    """Return for each run the new name of every config that another run has too."""
    configs = [set(run.summary.configs) for run in evaluation.runs]
    return run_labels([run.run_id for run in evaluation.runs], configs)


def split_run_ids(run_ids: str | Path | Sequence[str | Path]) -> list[str]:
    """Return the run ids of a text (comma-separated), a path or a sequence of either.

    Examples
    --------
    >>> split_run_ids("a, b,,")
    ['a', 'b']
    """
    given = [run_ids] if isinstance(run_ids, str | Path) else list(run_ids)
    names = [
        name.strip()
        for item in given
        for name in (item.split(",") if isinstance(item, str) else [str(item)])
    ]
    named = [name for name in names if name]
    if not named:
        raise BadInputError(
            "no run id was given: name one or several, separated by commas, or say demo for the "
            "built-in demonstration, which is simulated"
        )
    return named


def _path(value: PathLike) -> Path | str | None:
    if is_url(value):
        return value
    if value is None or value == "":
        return None
    if not isinstance(value, str | Path):
        raise BadInputError(f"a folder is given as text, not as {value!r}")
    return Path(value)


def _whole_numbers(values: Sequence[int]) -> list[int]:
    if not isinstance(values, list | tuple) or any(type(v) is not int for v in values):
        raise BadInputError(f"expected whole numbers, not {values!r}")
    return list(values)


def _names(values: str | Sequence[str]) -> list[str]:
    if isinstance(values, str):
        return [name.strip() for name in values.split(",") if name.strip()]
    if not isinstance(values, list | tuple) or any(type(v) is not str for v in values):
        raise BadInputError(f"expected a list of names, not {values!r}")
    return list(values)


# --- search ---


def load_search(
    run: str | Path,
    *,
    baseline: str | Path = "",
    backlog: str | BacklogSource = "",
    gold: str | Path = "",
    corpus: str | Path = "",
    noise: str | Path = "",
    thresholds: str | Path = "",
    justification: str | Path = "",
    mapping: str | Path = "",
    old_gold: str | Path = "",
    where: str = "",
    privacy: bool = False,
    pages: bool = False,
) -> SearchRun:
    """Return a search run as data frames.

    Parameters
    ----------
    run
        The file of a search run, or ``demo``: the built-in demonstration, which is written to
        ``reports/search-demo/data`` and measured twice. Where a file has that name it is refused.
    baseline
        A search run to compare with, in place of the change that the run recorded. Without it,
        ``baseline.json`` beside the run is read when it is what the run was compared with.
    backlog
        The review queue: a database URL, a JSONL file of items, or a ``.json`` file of counts.
        Without it, what the run recorded.
    gold
        The gold set that was asked. With it the report names relevant documents that were not
        retrieved, counts judgements by grade, says how far labellers agree, and which documents
        to judge next. Another one than the run's is not used.
    corpus
        The documents that were searched, to see which labels they have left behind.
    noise
        A noise file, to show changes beside what mere repetition does.
    thresholds
        Thresholds of the guard, in place of the shipped ones.
    justification
        Breaches that were accepted in writing. The day of the run is the one they must be valid
        on, so that a report of it stays the same.
    mapping, old_gold
        What re-labelling wrote (``relabel.json``), and the gold set that the baseline was measured
        with: they tell what moved labels did to every metric from what retrieval did. Both need
        ``baseline`` and ``gold``.
    where
        Only the queries that pass a condition, with everything measured anew from these; see
        :meth:`SearchRun.filter`.
    privacy
        Leave out texts of queries and drafts, messages of the retriever, how it was opened, and
        the names of labellers.
    pages
        Let names of queries and documents lead to the pages that ``retrieval-eval report`` writes
        beside the report.

    Returns
    -------
    SearchRun
        The frames of :data:`retrieval_eval.report.columns.SEARCH_FRAMES`, each built when
        first used.

    Raises
    ------
    BadInputError
        When a file does not exist or is of the wrong kind (it names file and place), or the
        condition cannot be read or leaves no query.
    """
    if is_demo(as_text(run)):
        made = measured_demo(DEMO_OUTPUT).sources
        return load_search(**made, where=where, privacy=privacy, pages=pages)
    if not (path := _file(run)):
        raise BadInputError(
            "no search run was given: name its file, or say demo for the built-in demonstration, "
            "which is simulated"
        )
    stored, named, asked = load_search_run(path), _file(baseline), _file(gold)
    before = load_search_run(named) if named else _recorded_baseline(stored, path)
    if named and before is not None:
        stored = _with_baseline(before, stored)
    labels = load_gold_set(asked) if asked else None
    problem = None
    if labels is not None and labels.fingerprint != (own := stored.run.gold_set.fingerprint):
        problem = (
            f"The gold set at hand ({labels.fingerprint[:12]}) is not the one that was asked "
            f"({own[:12]}), so it was not used"
        )
        labels = None
    has_sides = labels is not None and before is not None
    found = SearchRun(
        stored,
        path=path,
        baseline=before,
        backlog=load_backlog(backlog) if _is_given(backlog) else None,
        gold=labels,
        gold_problem=problem,
        corpus=_read(read_corpus, corpus),
        noise=_read(read_noise, noise),
        thresholds=_read(read_thresholds, thresholds),
        justifications=_read(read_justifications, justification) or (),
        relabelled=_relabelled(_file(mapping), _file(old_gold), has_sides=has_sides),
        privacy=privacy,
        places=Places.of(*shown_names(stored, before, labels)) if pages else None,
    )
    found.label_effects  # noqa: B018  a mapping that does not fit is named now, not in a cell
    return found.filter(where) if where else found


def load_diff(
    a: str | Path,
    b: str | Path = "",
    *,
    data: str | Path = DATA,
    accept: str | Sequence[str] = "",
    flag_points: float = DEFAULT_FLAG_POINTS,
    queries: str | Path = "",
    noise: str | Path = "",
    gold: str | Path = "",
    old_gold: str | Path = "",
    mapping: str | Path = "",
    seed: int = DEFAULT_SEED,
    where: str = "",
    privacy: bool = False,
    pages: bool = False,
) -> SearchDiff:
    """Return what changed from one search run to another, as data frames.

    Parameters
    ----------
    a, b
        Files of search runs, or labels of runs in ``data``. ``demo`` for ``a`` alone is the
        built-in demonstration, which is written to ``reports/search-demo/data`` and measured
        twice; beside a ``b`` it is a label as any other.
    data
        The folder whose reports are known by their labels.
    accept
        Fingerprints that may differ, by name (see `retrieval_eval.search.change.comparability`), as
        a sequence or separated by commas.
    flag_points
        Metrics that moved by more are flagged.
    queries
        A pinned list, shown as a slice of its own.
    noise
        A noise file, to show changes beside what mere repetition does.
    gold, old_gold, mapping
        The gold set of ``b``, that of ``a``, and after a re-chunking what it wrote
        (``relabel.json``), to split the change into what labels did and what retrieval did.
    seed
        Seed of resampling.
    where, privacy, pages
        As for :func:`load_search`; the condition is over the columns of ``diff.queries``.

    Raises
    ------
    BadInputError
        When a file or label does not exist or is of the wrong kind.
    NothingToEvaluateError
        When the runs did not measure the same thing, and that was not accepted.
    """
    chosen = {"a": as_text(a), "b": as_text(b), "noise": as_text(noise)}
    if is_demo_diff(chosen["a"], chosen["b"]):
        chosen = of_demo(measured_demo(DEMO_OUTPUT), chosen)
    names = [name for name in (chosen["a"], chosen["b"]) if name]
    if len(names) < 2:
        raise BadInputError(
            f"name two search runs, a and b; {'only one was' if names else 'none was'} given (a = "
            "demo alone is the built-in demonstration, which is simulated)"
        )
    first, second = (named_run(name, Path(data)) for name in names)
    accepted = accept.split(",") if isinstance(accept, str) else accept
    floor, listed = _file(chosen["noise"]), _file(queries)
    pinned = read_pinned(listed).ids if listed else None
    relabelled = read_relabelled(_file(old_gold), _file(gold), _file(mapping))
    document = diff(
        first.run,
        second.run,
        accept=[code for code in map(str.strip, accepted) if code],
        flag_points=flag_points,
        seed=seed,
        pinned=pinned,
        relabelled=relabelled,
    )
    found = SearchDiff(
        document,
        first.run,
        second.run,
        noise=read_noise(floor) if floor else None,
        notices=(*first.notices, *second.notices),
        guard=guard_of(
            first.path,
            second.path,
            floor,
            known={first.path: first.run, second.path: second.run},
        ),
        pinned=pinned,
        relabelled=relabelled,
        privacy=privacy,
        places=Places.of(*shown_names(second.run, first.run, both=True)) if pages else None,
    )
    return found.filter(where) if where else found


def is_demo_diff(a: str, b: str) -> bool:
    """Whether the built-in demonstration is meant, which has both runs."""
    return a == DEMO and not b


def of_demo(made: MeasuredDemo, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is compared with the runs of the measured demonstration, and its noise."""
    found = made.sources
    noise = values.get("noise") or found["noise"]
    return {**values, "a": found["baseline"], "b": found["run"], "noise": noise}


def as_text(value: Any) -> str:
    """Return the name of a file as text; raises ``BadInputError`` for anything else."""
    if not isinstance(value, str | Path):
        raise BadInputError(f"a file is given as text, not as {value!r}")
    return str(value)


def _file(value: Any) -> Path | None:
    return Path(text) if (text := as_text(value)) else None


def _read(read: Callable[[Path], T], value: Any) -> T | None:
    """Return what a file holds; None where none is given."""
    path = _file(value)
    return None if path is None else read(path)


def _relabelled(
    mapping: Path | None, old_gold: Path | None, *, has_sides: bool
) -> Relabelled | None:
    if not (mapping or old_gold):
        return None
    if not (mapping and old_gold and has_sides):
        raise BadInputError(
            "to tell labels that moved from retrieval that did, name both gold sets, the mapping "
            "between them, and the baseline"
        )
    old = load_gold_set(old_gold)
    return old, read_mapping(mapping, old)


def _is_given(backlog: str | BacklogSource) -> bool:
    return isinstance(backlog, BacklogSource) or bool(as_text(backlog))


def load_backlog(source: str | BacklogSource) -> Mapping[str, Any]:
    """Return the counts of a review queue.

    Parameters
    ----------
    source
        A database or JSONL file of items, which are counted, or a ``.json`` file that holds what
        ``retrieval-eval gold backlog --json`` printed.

    Raises
    ------
    BadInputError
        When the source cannot be read, or the counts of a file do not sum to its total.
    """
    name = source.source if isinstance(source, BacklogSource) else source
    if "://" in name or not name.endswith(".json"):
        return to_builtins(read_backlog(source))
    path = Path(name)
    found = read_json(path, path.parent)
    if found.problem is not None:
        raise BadInputError(found.problem)
    block = found.value if isinstance(found.value, Mapping) else {}
    wanted = (*BACKLOG, "total")
    counts = {key: n for key in wanted if type(n := block.get(key)) is int and n >= 0}
    absent = [key for key in wanted if key not in counts]
    if absent:
        raise BadInputError(
            f"{path.name}: /{absent[0]}: expected a count; `retrieval-eval gold backlog --json` "
            "writes such a file"
        )
    if sum(counts[key] for key in BACKLOG) != counts["total"]:
        raise BadInputError(f"{path.name}: /total: the counts by status do not sum to it")
    return dict(block)


def _recorded_baseline(run: StoredRun, path: Path) -> StoredRun | None:
    """Return the baseline that a run was compared with.

    It is looked for beside the run, and where the guard takes it from.
    """
    if run.delta is None:
        return None
    wanted = run.delta.baseline
    for place in (path.parent / DEFAULT_BASELINE.name, DEFAULT_BASELINE):
        if not probe(place.is_file):
            continue
        try:
            found = load_search_run(place)
        except BadInputError:
            continue  # the file was not named, so it may be anything
        if (
            found.label == wanted.label
            and found.generated_at == wanted.generated_at
            and found.run.gold_set.fingerprint == wanted.gold_fingerprint
        ):
            return found
    return None


def _with_baseline(baseline: StoredRun, run: StoredRun) -> StoredRun:
    try:
        return compare_with_baseline(baseline, run, seed=run.run.settings.seed)
    except ValueError as error:  # settings of a run that were changed by hand
        raise BadInputError(f"the run cannot be compared with its baseline: {error}") from error
