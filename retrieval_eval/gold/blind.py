"""Blind re-labelling: the same labeller grades some pairs again, not knowing their first grade."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.gold.agreement import Compared, compare_grades, max_grade
from retrieval_eval.gold.corpus import Corpus
from retrieval_eval.gold.disagreements import own_grades
from retrieval_eval.gold.model import GoldSet
from retrieval_eval.gold.pair_sheets import PURPOSE, pair_sheets
from retrieval_eval.gold.pool import KEY_VERSION, Pool
from retrieval_eval.gold.pool_key import read_key
from retrieval_eval.gold.sheets import Answer, Item, read_sheet
from retrieval_eval.values import DEFAULT_SEED

BLIND_KEY: Final = "blind_key"
"""Marks the key of a blind pack, so that its grades are never read as labels."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A document that a labeller graded otherwise the second time."""

    query: str
    doc: str
    earlier: int
    now: int


@dataclass(frozen=True, slots=True)
class Repeated:
    """How far one labeller agrees with themselves.

    ``n_undecided`` items came back without a grade or not at all; for ``n_forgotten`` the gold
    set has no earlier grade any more.
    """

    labeller: str
    compared: Compared
    changed: tuple[Changed, ...]
    n_undecided: int
    n_forgotten: int

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able block."""
        return {
            "labeller": self.labeller,
            **self.compared.to_json(),
            "n_undecided": self.n_undecided,
            "n_forgotten": self.n_forgotten,
            "changed": [
                {"query": one.query, "doc": one.doc, "earlier": one.earlier, "now": one.now}
                for one in self.changed
            ],
        }


def blind_pack(
    gold: GoldSet,
    corpus: Corpus,
    *,
    share: float,
    labellers: Sequence[str] | None = None,
    seed: int = 0,
) -> Pool:
    """Return a share of every labeller's own pairs as a sheet, to be graded again.

    Ids and order differ from those of the sheets that the labels came from; neither sheets nor
    key hold a grade.

    Parameters
    ----------
    corpus
        The texts to show.
    share
        The share of each labeller's pairs, above 0 and at most 1; rounded up.
    labellers
        Who grades again; by default everybody with a label.
    seed
        Seed of the choice, the order and the ids.

    Raises
    ------
    BadInputError
        For a share out of range, a labeller without labels, or a document without text.
    NothingToEvaluateError
        When the gold set has no label.
    """
    if not 0 < share <= 1:
        raise BadInputError(f"a share lies above 0 and is at most 1, not {share}")
    own: dict[str, list[tuple[str, str]]] = {}
    for query in gold.queries:
        for doc, given in own_grades(query).items():
            for labeller in given:
                own.setdefault(labeller, []).append((query.id, doc))
    if not own:
        raise NothingToEvaluateError("the gold set has no label to give again")
    sheets: dict[str, tuple[Item, ...]] = {}
    key: dict[str, Any] = {}
    items: dict[str, Any] = {}
    n_pairs, queries = 0, set()
    # Not the seed itself: with it a labeller could look the items up in a sheet of the pool.
    inner = int(_digest("blind", seed)[:12], 16)
    for labeller in dict.fromkeys(labellers or sorted(own)):
        if labeller not in own:
            raise BadInputError(f"the labeller {labeller[:80]!r} has no label")
        pairs = sorted(own[labeller], key=lambda pair: _digest(seed, labeller, *pair))
        # As it was written: 0.07 of 100 pairs are 7, and the product of floats is a little more.
        chosen = pairs[: math.ceil(Fraction(str(share)) * len(pairs))]
        docs: dict[str, list[str]] = {}
        for query_id, doc in chosen:
            docs.setdefault(query_id, []).append(doc)
        pool = pair_sheets(gold, corpus, docs, [labeller], purpose="blind", seed=inner)
        sheets |= pool.sheets
        items |= pool.key["items"]
        key = dict(pool.key)
        n_pairs += len(chosen)
        queries |= set(docs)
    for name in ("pool_key", PURPOSE, "depth", "seed", "items"):
        del key[name]
    key = {BLIND_KEY: KEY_VERSION, **key, "share": share, "seed": seed}
    key["items"] = dict(sorted(items.items()))
    return Pool(sheets, key, len(queries), n_pairs, len(gold.queries) - len(queries))


def read_blind(
    gold: GoldSet, sheets: Sequence[Path], key: Path, *, seed: int = DEFAULT_SEED
) -> list[Repeated]:
    """Return how far each labeller agrees with themselves, by name; the gold set stays as it is.

    Raises
    ------
    BadInputError
        With every fault of the sheets by file and line.
    NothingToEvaluateError
        When no item has a grade now and one from before.
    """
    found = read_key(key, BLIND_KEY)
    items = found["items"]
    answers = _answers(sheets, items, found["max_grade"])
    before = {
        (labeller, query.id, doc): grade
        for query in gold.queries
        for doc, given in own_grades(query).items()
        for labeller, grade in given.items()
    }
    repeated = [
        _repeated(
            labeller,
            [entry | {"now": answers.get(item)} for item, entry in items.items()
             if entry["labeller"] == labeller],
            before, max(max_grade(gold), found["max_grade"]), seed,
        )
        for labeller in sorted({entry["labeller"] for entry in items.values()})
    ]  # fmt: skip
    if not any(one.compared.n for one in repeated):
        raise NothingToEvaluateError("no pair was graded a second time")
    return repeated


def _answers(sheets: Sequence[Path], items: Mapping[str, Any], top: int) -> dict[str, int | None]:
    shown = {item: entry["shown"] for item, entry in items.items()}
    answers: dict[str, Answer] = {}
    faults: list[str] = []
    for path in sheets:
        found, problems = read_sheet(path, shown, max_grade=top)
        faults += problems
        for answer in found:
            if answer.item in answers:
                first = answers[answer.item].where
                faults.append(
                    f"{answer.where}: the item {answer.item} is a second time, first {first};"
                    " keep one of them"
                )
            answers.setdefault(answer.item, answer)
    if faults:
        raise BadInputError("\n".join(faults))
    return {item: answer.grade for item, answer in answers.items()}


def _repeated(
    labeller: str,
    entries: Sequence[Mapping[str, Any]],
    before: Mapping[tuple[str, str, str], int],
    top: int,
    seed: int,
) -> Repeated:
    graded = [entry for entry in entries if entry["now"] is not None]
    rows = sorted(
        (entry["query"], entry["doc"], before[labeller, entry["query"], entry["doc"]], entry["now"])
        for entry in graded
        if (labeller, entry["query"], entry["doc"]) in before
    )
    both = [(query, earlier, now) for query, _, earlier, now in rows]
    return Repeated(
        labeller,
        compare_grades(both, top, seed=seed),
        tuple(Changed(*row) for row in rows if row[2] != row[3]),
        len(entries) - len(graded),
        len(graded) - len(rows),
    )


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()
