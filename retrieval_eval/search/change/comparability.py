"""May two search runs be compared: what each lacks, in what they differ, what was accepted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Final, get_args

from msgspec.structs import replace

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.model.search_diff import SetupDifference
from retrieval_eval.model.search_run import (
    CorpusFacts,
    JudgeFacts,
    QueryResult,
    RunHeader,
    SearchRun,
)
from retrieval_eval.records import Mismatch
from retrieval_eval.search.ask.retrievers import retriever_kind
from retrieval_eval.search.change.paired_change import moved_between, ranking_differs
from retrieval_eval.search.run.document import without_untrusted
from retrieval_eval.search.run.trust import distrust, drift_sentence, incomplete, trust_of
from retrieval_eval.values import counted

ACCEPTABLE: Final = get_args(Mismatch)
"""What two runs may differ in when that is named: see `mismatches`."""

_SETTINGS: Final = (
    "depth",
    "convention",
    "empty_ranking",
    "without_own",
    "seed",
    "n_resamples",
    "confidence",
)
_DIGEST: Final = re.compile(r"\b[0-9a-f]{32,}\b")


def differences(baseline: RunHeader, current: RunHeader) -> dict[str, str]:
    """Return why two runs cannot be compared: a sentence for each code, empty when they can.

    Both are given by what was measured, and with what (the block ``run``).

    The codes: ``gold_set`` (other queries or judgements), ``convention``, ``empty_ranking``,
    ``depth`` (RR looks at the whole ranking), ``without_own`` (one left the query's own document
    out) and ``measures`` (none in common).
    """
    found = {}
    was, now = baseline.gold_set, current.gold_set
    if was.fingerprint != now.fingerprint:
        found["gold_set"] = (
            f"the gold set changed from {counted(was.n_queries, 'query')} and "
            f"{counted(was.n_labelled_pairs, 'labelled pair')} "
            f"({was.fingerprint[:12]}) to {now.n_queries:,} and {now.n_labelled_pairs:,} "
            f"({now.fingerprint[:12]})"
        )
    old, new = baseline.settings, current.settings
    for code, words in (
        ("convention", "metrics are defined differently"),
        ("empty_ranking", "empty rankings are scored differently"),
        ("depth", "a different number of documents was requested"),
    ):
        before, after = getattr(old, code), getattr(new, code)
        if before != after:
            found[code] = f"{words} ({before}, now {after})"
    if old.without_own != new.without_own:
        which = "this run" if new.without_own else "the baseline"
        found["without_own"] = f"only {which} leaves out the query's own document (--without-own)"
    if not common_measures(baseline, current):
        found["measures"] = "the runs have no measure in common"
    return found


def common_measures(baseline: RunHeader, current: RunHeader) -> list[str]:
    """Return the measures that both runs have, in the order of the second."""
    known = baseline.settings.measures
    return [name for name in current.settings.measures if name in known]


def changes(baseline: SearchRun, current: SearchRun) -> list[str]:
    """Return in words what else differs between the set-ups of two runs, such as an option.

    It is what `setup_changes` says, and the threshold of refusals.
    """
    summary = setup_changes(baseline.run, current.run)
    # Where only one of them has unanswerable queries, the other's threshold is unknown.
    old, new = baseline.abstention, current.abstention
    if old is not None and new is not None:
        was, now = _told(old.threshold), _told(new.threshold)
        summary += [f"abstain_at: {was} → {now}"] if was != now else []
    return summary


def setup_changes(baseline: RunHeader, current: RunHeader) -> list[str]:
    """Return in words what differs between retriever, options and corpora of two runs.

    Options of two kinds of retriever have nothing to do with each other; only the kinds are named.
    """
    kinds = [retriever_kind(run.retriever.spec) for run in (baseline, current)]
    is_same_kind = kinds[0] == kinds[1]
    old, new = (_setup(run, with_options=is_same_kind) for run in (baseline, current))
    summary = [] if is_same_kind else [f"kind of retriever: {kinds[0]} → {kinds[1]}"]
    return summary + [
        f"{name}: {old.get(name, 'not there')} → {new.get(name, 'not there')}"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]


def setup_differences(a: SearchRun, b: SearchRun) -> tuple[SetupDifference, ...]:
    """Return every field of the set-up in which two runs differ, the system first.

    After retriever, reranker, floor, options and corpora (see `setup_changes`) come the threshold
    of refusals, the gold set, how metrics were measured, and versions of libraries.
    """
    kinds = [retriever_kind(run.run.retriever.spec) for run in (a, b)]
    sides = []
    for kind, run in zip(kinds, (a, b), strict=True):
        gold, settings = run.run.gold_set, run.run.settings
        found = {"kind of retriever": kind, **_setup(run.run, with_options=kinds[0] == kinds[1])}
        if run.abstention is not None:
            found["abstain_at"] = _told(run.abstention.threshold)
        found["gold set"] = (
            f"{counted(gold.n_queries, 'query')}, {counted(gold.n_labelled_pairs, 'labelled pair')}"
            f", digest {gold.fingerprint[:12]}"
        )
        for name in _SETTINGS:
            found[name] = _told(getattr(settings, name))
        found["k_values"] = ", ".join(map(str, settings.k_values))
        found |= {f"version of {name}": version for name, version in run.run.versions.items()}
        sides.append(found)
    old, new = sides
    return tuple(
        SetupDifference(field=name, a=old.get(name), b=new.get(name))
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    )


def _setup(run: RunHeader, *, with_options: bool) -> dict[str, str]:
    use = run.retriever
    keys = ("spec", "name", "reranker", "uses_rerank", "floor")
    found = {key: getattr(use, key) for key in keys}
    if with_options:
        # Where a retriever states an option itself, with its default, that is the fuller truth.
        found |= {**use.options, **use.facts}
        found.pop("corpora", None)
    for corpus in run.corpora:
        size, digest = corpus.n_documents, corpus.fingerprint
        known = "size unknown" if size is None else counted(size, "document")
        found[f"corpus {corpus.corpus}"] = (
            f"{known}, {f'digest {digest}' if digest else 'no digest'}"
        )
    return {name: _told(value) for name, value in found.items()}


def _told(value: object) -> str:
    return "none" if value is None else _DIGEST.sub(lambda hit: hit[0][:12], str(value))


def truncation(run: SearchRun) -> str | None:
    """Return how much of its gold set a run asked, None where it asked all that it was to ask.

    That is the whole gold set, or the pinned list that was stated before the run.
    """
    n, pinned = len({query.id for query in run.queries}), run.run.pinned
    if pinned is not None:
        asked = f"it asked {n} of the {counted(pinned.n_queries, 'query')} pinned in {pinned.name}"
        return asked if n < pinned.n_queries else None
    n_gold = run.run.gold_set.n_queries
    return f"it asked {n} of the {counted(n_gold, 'query')} of the gold set" if n < n_gold else None


def mismatches(a: SearchRun, b: SearchRun) -> dict[str, str]:
    """Return in which fingerprints two runs differ: a sentence for each of :data:`ACCEPTABLE`.

    ``corpus``: one run searched a corpus that the other did not, or a corpus has another digest
    or number of documents. What is unknown of a corpus differs from nothing; see `unverified`.
    ``queries``: one run asked a query that the other, of the same gold set, did not.
    """
    found = {code: text for code, text in differences(a.run, b.run).items() if code in ACCEPTABLE}
    old, new = _corpora_by_name(a), _corpora_by_name(b)
    wrong = [f"corpus {name} was searched by one run only" for name in sorted(old.keys() ^ new)]
    for name in sorted(old.keys() & new.keys()):
        wrong += [
            f"corpus {name} has another {what} ({_short(was)}, then {_short(now)})"
            for what, was, now in (
                ("size", old[name].n_documents, new[name].n_documents),
                ("digest", old[name].fingerprint, new[name].fingerprint),
            )
            if was is not None and now is not None and was != now
        ]
    if wrong:
        found["corpus"] = "; ".join(wrong)
    asked = [{query.id for query in run.queries} for run in (a, b)]
    if asked[0] != asked[1] and "gold_set" not in found:
        found["queries"] = "; ".join(
            f"run {name} did not ask {len(missing)} of the {counted(len(other), 'query')} of run "
            f"{other_name}"
            for name, other_name, missing, other in (
                ("A", "B", asked[1] - asked[0], asked[1]),
                ("B", "A", asked[0] - asked[1], asked[0]),
            )
            if missing
        )
    return found


def unverified(a: SearchRun, b: SearchRun) -> list[str]:
    """Return the corpora of both runs whose digest one of them does not record, by name."""
    old, new = _corpora_by_name(a), _corpora_by_name(b)
    return [
        name
        for name in sorted(old.keys() & new.keys())
        if None in (old[name].fingerprint, new[name].fingerprint)
    ]


def accepted_mismatches(a: SearchRun, b: SearchRun, accept: Collection[str]) -> dict[str, str]:
    """Return the mismatches of two runs, all of which were accepted.

    Raises
    ------
    NothingToEvaluateError
        When the runs differ in something not named in ``accept``, or share no measure, which
        cannot be accepted.
    BadInputError
        When ``accept`` names something that is none of :data:`ACCEPTABLE`.
    """
    if unknown := sorted(set(accept) - set(ACCEPTABLE)):
        raise BadInputError(
            f"{unknown[0]!r} cannot be accepted; expected one of {', '.join(ACCEPTABLE)}"
        )
    if not common_measures(a.run, b.run):
        raise NothingToEvaluateError("the runs have no measure in common")
    found = mismatches(a, b)
    open_codes = [code for code in found if code not in accept]
    if open_codes:
        flags = " ".join(f"--accept {code}" for code in open_codes)
        raise NothingToEvaluateError(
            "the runs did not measure the same thing: "
            f"{'; '.join(found[code] for code in open_codes)}. If that is meant, add {flags}"
        )
    return found


def _pinned(run: SearchRun) -> str | None:
    return None if run.run.pinned is None else run.run.pinned.fingerprint


def _corpora_by_name(run: SearchRun) -> dict[str, CorpusFacts]:
    return {corpus.corpus: corpus for corpus in run.run.corpora}


def _short(value: object) -> str:
    return str(value)[:12]


def run_faults(
    runs: Sequence[SearchRun], baselines: Sequence[SearchRun], scope: Collection[str] | None
) -> list[str]:
    """Return why runs have no verdict against baselines, in sentences; empty when they have one.

    Any of them may lack a verdict of its own, hold no query, hold one twice, or have failed on one;
    they may have measured different things (`differences`); a run that asked fewer queries than its
    gold set has, or left out a corpus, is not the whole; and several runs of a side may hold a copy
    (`copies`) or be of several systems (`system_changes`).

    Parameters
    ----------
    scope
        Ids of pinned queries, which are then all that has to be there; None: the whole gold set.
    """
    found = []
    named = [*_named("the baseline", baselines), *_named("the run", runs)]
    for name, doc in named:
        found += [f"{name} has no verdict of its own: {why}" for why in own_faults(doc)]
        found += _missing_queries(name, doc, scope)
    found += [
        f"{name} is incomplete: {why}"
        for name, doc in _named("the baseline", baselines)
        if not own_faults(doc)
        for why in incomplete(doc)
    ]
    for whose, side in (("baseline", baselines), ("run", runs)):
        found += [f"on the side of the {whose}, {why}" for why in copies(side)]
        found += [f"on the side of the {whose}, {why}" for why in system_changes(side)]
    run, baseline = runs[0], baselines[0]
    found += differences(baseline.run, run.run).values()
    if scope is None and _pinned(run) != _pinned(baseline):
        names = " and ".join(
            sorted({doc.run.pinned.name for doc in (run, baseline) if doc.run.pinned})
        )
        found.append(
            f"the run and the baseline asked other queries (pinned in {names}); --queries names a"
            " list that both asked"
        )
    skipped = _corpora(baseline, scope) - _corpora(run, scope)
    if skipped:
        found.append(f"the run skipped the corpus {', '.join(sorted(skipped))}")
    return found


def run_notes(runs: Sequence[SearchRun], baselines: Sequence[SearchRun]) -> list[str]:
    """Return what a reader should know of runs that have a verdict."""
    run, baseline = runs[0], baselines[0]
    found = []
    if run.run.gold_set.is_provisional:
        found.append("the gold set is provisional: no person has reviewed a row of it")
    # Earlier versions did not record it.
    if any(one.run.ids_checked is False for one in runs):
        found.append(
            "the document ids of the run were not checked (no --corpus-file): one that the corpus "
            "lacks counts as not relevant"
        )
    if (declared := both_declare(baseline, run)) is not None:
        found.append(declared)
    drifted = [sentence for one in runs if (sentence := drift_sentence(one)) is not None]
    found += [f"labels {sentence}" for sentence in drifted[:1]]
    identities = [{(one.generated_at, one.label) for one in side} for side in (runs, baselines)]
    if identities[0] & identities[1]:
        is_whole = identities[0] == identities[1]
        found.append(
            "the run is the baseline itself, so nothing can have changed"
            if is_whole
            else "a run stands on both sides, which hides what changed"
        )
    agreements = [one.claims.agreement for one in (*runs, *baselines) if one.claims is not None]
    if agreements:
        from retrieval_eval.search.claims import agreement_words

        known = [one for one in agreements if one is not None]
        found.append(f"the judge of the claims: {agreement_words(known[0] if known else None)}")
    old, new = _digests(baseline), _digests(run)
    found += [
        f"the documents of corpus {name} are others than the baseline's: labels may be stale"
        for name in sorted(old.keys() & new.keys())
        if None not in (old[name], new[name]) and old[name] != new[name]
    ]
    return found


def both_declare(a: SearchRun, b: SearchRun) -> str | None:
    """Return that two runs of one set-up declare determinism and differ, or None.

    It takes nothing from a breach: what the set-up does not record may have been changed.
    """
    is_declared = all(trust_of(run).determinism == "declared" for run in (a, b))
    if not is_declared or setup_changes(a.run, b.run) or "gold_set" in differences(a.run, b.run):
        return None
    before, after = ({query.id: query for query in run.queries} for run in (a, b))
    both = [(before[name], after[name]) for name in before.keys() & after.keys()]
    n = sum(ranking_differs(*pair) for pair in both)
    if not n:
        return None
    return (
        f"both runs declare that the retriever is deterministic and record the same set-up, and {n}"
        f" of {counted(len(both), 'ranking')} differ: what is behind it changed, or it is not"
        " deterministic, which `retrieval-eval search noise` would show"
    )


def other_tops(a: SearchRun, b: SearchRun, within: Collection[str] | None = None) -> str | None:
    """Return how many first ten documents changed though nothing that is recorded did, or None.

    Of the same corpus, gold set and options, queries whose first ten documents are others although
    no metric of them moved.
    """
    if set_up_anew(a, b):
        return None
    found, n = unexplained_tops(a, b, within)
    if not found:
        return None
    same = "the same" if not unverified(a, b) else "the same as far as is recorded"
    return (
        f"the first ten documents of {len(found):,} of {counted(n, 'query')} are others,"
        f" such as those of {found[0]}, although corpus, gold set and options are {same} and no"
        " metric of these queries moved"
    )


def set_up_anew(a: SearchRun, b: SearchRun) -> list[str]:
    """Return in what corpus, gold set or options of two runs differ, in words."""
    return [*setup_changes(a.run, b.run), *mismatches(a, b).values()]


def unexplained_tops(
    a: SearchRun, b: SearchRun, within: Collection[str] | None = None
) -> tuple[list[str], int]:
    """Return the queries whose first ten changed and no metric, and how many both answered."""
    moved = moved_between(a, b, within)
    old = {query.id: query for query in a.queries if query.status == "ok"}
    both = [
        query
        for query in b.queries
        if query.status == "ok" and query.id in old and (within is None or query.id in within)
    ]
    found = [
        query.id for query in both if query.id not in moved and _tops_differ(old[query.id], query)
    ]
    return found, len(both)


def _tops_differ(before: QueryResult, after: QueryResult) -> bool:
    return [found.doc for found in before.ranking[:10]] != [
        found.doc for found in after.ranking[:10]
    ]


def copies(runs: Sequence[SearchRun]) -> list[str]:
    """Return which runs a list has twice, in sentences: they would show no noise.

    A run is known by its label, the second it was measured in and its answers, so that a copy of
    it, such as the baseline, is found, too.
    """
    return [
        f"run {number} is run {other} again; a run shows no noise against itself"
        for number, run in enumerate(runs, 1)
        for other, earlier in enumerate(runs[: number - 1], 1)
        if (run.generated_at, run.label, _answers(run))
        == (earlier.generated_at, earlier.label, _answers(earlier))
    ]


def _answers(run: SearchRun) -> list[QueryResult]:
    # A baseline lacks the seconds of the run that it was.
    return [replace(query, seconds=None) for query in run.queries]


def system_changes(runs: Sequence[SearchRun]) -> list[str]:
    """Return why runs are not all of one system over the same queries, in sentences."""
    found = []
    for number, (one, other) in enumerate(pairwise(runs), 2):
        apart = [
            *differences(one.run, other.run).values(),
            *changes(one, other),
            *judge_faults(judge_of(one), judge_of(other)),
        ]
        if {q.id for q in one.queries} != {q.id for q in other.queries}:
            apart.append("other queries were asked")
        if apart:
            found.append(
                f"run {number} is not of the same system as the one before, so what lies between "
                f"them is no noise: {'; '.join(apart)}"
            )
    return found


def judge_of(run: SearchRun) -> JudgeFacts | None:
    """Return who judged the claims of a run; None where none were judged."""
    return None if run.claims is None else run.claims.judge


def judge_faults(old: JudgeFacts | None, new: JudgeFacts | None) -> list[str]:
    """Return why claim metrics of two runs cannot be compared: another judge decided."""
    if old is None or new is None or old == new:
        return []
    return [f"another judge decided ({_judge(old)}, now {_judge(new)})"]


def own_faults(doc: SearchRun) -> list[str]:
    """Return why a run has no verdict whatever it is compared with, in sentences."""
    if not doc.queries:
        return ["it holds no query"]
    doc = without_untrusted(doc)
    # A file may say of itself that it has a verdict; its queries say whether it can.
    found = list(doc.status.reasons) or distrust(doc)
    if not doc.status.has_verdict and not found:
        found.append("it gives no reason")
    twice = [query for query, n in Counter(q.id for q in doc.queries).items() if n > 1]
    if twice:
        summary = f"it holds {counted(len(twice), 'query')} more than once"
        found.append(f"{summary}, the first is {twice[0]!r}")
    return found


def _named(name: str, runs: Sequence[SearchRun]) -> list[tuple[str, SearchRun]]:
    if len(runs) == 1:
        return [(name, runs[0])]
    return [(f"{name} {number} of {len(runs)}", run) for number, run in enumerate(runs, 1)]


def _missing_queries(name: str, doc: SearchRun, scope: Collection[str] | None) -> list[str]:
    asked = {query.id for query in doc.queries}
    if scope is not None:
        missing = sorted(set(scope) - asked)
        summary = f"{name} lacks {len(missing)} of {len(set(scope))} pinned queries"
        return [f"{summary}, the first is {missing[0]!r}"] if missing else []
    return [f"{name} is truncated: {left_out}"] if asked and (left_out := truncation(doc)) else []


def _corpora(doc: SearchRun, scope: Collection[str] | None) -> set[str]:
    return {q.corpus for q in doc.queries if scope is None or q.id in scope}


def _digests(doc: SearchRun) -> dict[str, str | None]:
    return {corpus.corpus: corpus.fingerprint for corpus in doc.run.corpora}


def _judge(judge: JudgeFacts) -> str:
    return f"{judge.name} {judge.version}"
