"""The whole of ``search claims``: read, judge, write the run with its claims."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import iter_jsonl, write_bytes
from retrieval_eval.model import to_builtins
from retrieval_eval.model.search_run import (
    Claims,
    Confusion,
    JudgeAgreement,
    SearchRun,
    ShareWithInterval,
)
from retrieval_eval.records import Progress
from retrieval_eval.search.claims.coverage import Blocks, claims_of, read_drafts
from retrieval_eval.search.claims.judge import Judge, ask_all, open_judge
from retrieval_eval.search.claims.veto import verdict_of
from retrieval_eval.search.gold import load_gold_set
from retrieval_eval.search.gold.corpus import Corpus, read_corpus
from retrieval_eval.search.gold.faults import kind, line_problem, pointer, unusable_part
from retrieval_eval.search.run.composite import composite_of
from retrieval_eval.search.run.document import load_search_run, run_bytes
from retrieval_eval.search.run.trust import require_trust
from retrieval_eval.stats.agreement import cohen_kappa
from retrieval_eval.stats.proportions import wilson
from retrieval_eval.values import DEFAULT_SEED, Interval, Value, ratio


@dataclass(frozen=True, slots=True)
class ClaimsRequest:
    """Which drafts to judge, and with what; ``out`` is the new file, ``cache`` that of verdicts.

    ``judge`` is one of `JUDGES`; there is no default.
    """

    run: Path
    drafts: Path
    corpus: Path
    gold: Path
    out: Path
    judge: str
    judge_options: Mapping[str, str] = field(default_factory=dict)
    cache: Path | None = None
    human_labels: Path | None = None


def with_claims(run: SearchRun, claims: Claims) -> SearchRun:
    """Return a search run with these claims and the composite that follows."""
    joined = replace(run, claims=claims)
    return replace(joined, composite=composite_of(joined))


def measure_claims(request: ClaimsRequest, *, progress: Progress | None = None) -> SearchRun:
    """Write a copy of a search run with the claims of its drafts, and return it.

    Raises
    ------
    BadInputError
        When a file cannot be used; nothing is written then.
    JudgeError, NothingToEvaluateError
        When the judge fails or there is nothing to judge; nothing is written but the verdicts
        that the cache keeps.
    """
    run = load_search_run(request.run)
    require_trust(run, str(request.run))
    gold = load_gold_set(request.gold)
    corpus = read_corpus(request.corpus)
    drafts = read_drafts(request.drafts)
    # Whatever cannot be used is found before a judge is asked, which may cost money.
    labels = read_human_labels(request.human_labels, corpus) if request.human_labels else None
    judge = open_judge(request.judge, request.judge_options, cache=request.cache)
    claims = claims_of(run, drafts, corpus, judge, gold=gold, progress=progress)
    if labels is not None:
        agreement = judge_agreement(labels, judge, seed=run.run.settings.seed)
        claims = replace(claims, agreement=agreement)
    run = with_claims(run, claims)
    write_bytes(request.out, run_bytes(to_builtins(run)))
    return run


# How far the judge agrees with people on the same claims and blocks

_MOST_FAULTS: Final = 100


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """What a person says of one claim and one block."""

    claim: str
    block: str
    supported: bool


def read_human_labels(path: Path, corpus: Corpus) -> tuple[HumanLabel, ...]:
    """Return the labels of a JSONL file of ``{"claim", "block", "supported"}``.

    ``block`` is a document id of the corpus or the text of a block.

    Raises
    ------
    BadInputError
        When the file cannot be read or is empty, or a line has a fault; the message names the
        first 100 by line.
    """
    real = Path(os.path.realpath(path))
    blocks = Blocks(corpus)
    found: list[HumanLabel] = []
    faults: list[str] = []
    for line in iter_jsonl(real, real.parent):
        if line.problem is not None:
            faults.append(f"{path}: {line_problem(line.problem, real)}")
            continue
        label = _label(line.value, blocks)
        if isinstance(label, HumanLabel):
            found.append(label)
        else:
            faults.append(f"{path}: line {line.number}: {label}")
    if faults:
        more = len(faults) - _MOST_FAULTS
        tail = [f"{path}: and {more} more faults"] if more > 0 else []
        raise BadInputError("\n".join([*faults[:_MOST_FAULTS], *tail]))
    if not found:
        raise BadInputError(f"{path}: holds no label; expected one JSON object a line")
    return tuple(found)


def _label(row: Any, blocks: Blocks) -> HumanLabel | str:
    if not isinstance(row, dict):
        return f"expected an object, found {kind(row)}"
    unusable = unusable_part(row)
    if unusable is not None:
        return unusable
    for name in ("claim", "block"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            return f"{pointer(name)}: expected text, found {kind(row.get(name))}"
    if not isinstance(row.get("supported"), bool):
        return f"{pointer('supported')}: expected true or false, found {kind(row.get('supported'))}"
    try:
        block = blocks.find(row["block"])
    except BadInputError as error:
        return f"{pointer('block')}: {error}"
    return HumanLabel(row["claim"], block, row["supported"])


def judge_agreement(
    labels: Sequence[HumanLabel], judge: Judge, *, seed: int = DEFAULT_SEED
) -> JudgeAgreement:
    """Return how often a judge says what people say.

    Its verdicts are those that count in a coverage: vetoed and unproved ones are not supported.
    Cohen's kappa has a bootstrap interval, the accuracy Wilson's.

    Raises
    ------
    JudgeError
        When the judge fails.
    """
    asked = ask_all(lambda label: verdict_of(judge, label.claim, label.block), labels, judge)
    judgements = list(asked)
    said = [judgement.supported for judgement in judgements]
    human = [label.supported for label in labels]
    pairs = Counter(zip(said, human, strict=True))
    n_same = pairs[True, True] + pairs[False, False]
    kappa = cohen_kappa(said, human, categories=[False, True], seed=seed)
    accuracy = ratio(n_same, len(labels), "too_few_values")
    return JudgeAgreement(
        n=len(labels),
        kappa=_with_interval(kappa.value, kappa.interval),
        accuracy=_with_interval(accuracy, wilson(n_same, len(labels))),
        confusion=Confusion(
            both=pairs[True, True],
            judge_only=pairs[True, False],
            human_only=pairs[False, True],
            neither=pairs[False, False],
        ),
        n_unproved=sum(judgement.is_unproved for judgement in judgements),
    )


def _with_interval(value: Value, interval: Interval) -> ShareWithInterval:
    return ShareWithInterval(
        **value.to_json(), ci_low=interval.low.value, ci_high=interval.high.value
    )
