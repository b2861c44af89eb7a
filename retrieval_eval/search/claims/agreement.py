"""How far a judge agrees with people on the same claims and blocks."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import iter_jsonl
from retrieval_eval.model.search_run import Confusion, JudgeAgreement, ShareWithInterval
from retrieval_eval.search.claims.coverage import Blocks
from retrieval_eval.search.claims.judge import Judge, ask_all
from retrieval_eval.search.claims.verdicts import verdict_of
from retrieval_eval.search.gold.corpus import Corpus
from retrieval_eval.search.gold.faults import kind, line_problem, pointer, unusable_part
from retrieval_eval.stats.agreement import cohen_kappa
from retrieval_eval.stats.proportions import wilson
from retrieval_eval.values import DEFAULT_SEED, Interval, Value, ratio

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
