"""What keeps two runs from being held against each other, and the naming that lifts it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from retrieval_eval.errors import BadInputError, NothingToEvaluateError
from retrieval_eval.search.delta import common_measures, differences
from retrieval_eval.values import counted

Document = Mapping[str, Any]

ACCEPTABLE: Final = ("gold_set", "convention", "empty_ranking", "depth", "corpus", "queries")
"""What two runs may differ in when that is named: see `mismatches`."""


def mismatches(a: Document, b: Document) -> dict[str, str]:
    """Return in which fingerprints two runs differ: a sentence for each of :data:`ACCEPTABLE`.

    ``corpus``: one run searched a corpus that the other did not, or a corpus has another digest
    or number of documents. What is unknown of a corpus differs from nothing; see `unverified`.
    ``queries``: one run asked a query that the other, of the same gold set, did not.
    """
    found = {code: text for code, text in differences(a, b).items() if code in ACCEPTABLE}
    old, new = _corpora(a), _corpora(b)
    wrong = [f"corpus {name} was searched by one run only" for name in sorted(old.keys() ^ new)]
    for name in sorted(old.keys() & new.keys()):
        wrong += [
            f"corpus {name} has another {what} ({_short(old[name][key])}, then "
            f"{_short(new[name][key])})"
            for key, what in (("n_documents", "size"), ("fingerprint", "digest"))
            if None not in (old[name][key], new[name][key]) and old[name][key] != new[name][key]
        ]
    if wrong:
        found["corpus"] = "; ".join(wrong)
    asked = [{query["id"] for query in run["queries"]} for run in (a, b)]
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


def unverified(a: Document, b: Document) -> list[str]:
    """Return the corpora of both runs whose digest one of them does not record, by name."""
    old, new = _corpora(a), _corpora(b)
    return [
        name
        for name in sorted(old.keys() & new.keys())
        if None in (old[name]["fingerprint"], new[name]["fingerprint"])
    ]


def accepted_mismatches(a: Document, b: Document, accept: Collection[str]) -> dict[str, str]:
    """Return the mismatches of two runs, all of which were accepted.

    Raises
    ------
    NothingToEvaluateError
        When the runs differ in something not named in ``accept``, or share no measure, which
        nobody can accept.
    BadInputError
        When ``accept`` names something that is none of :data:`ACCEPTABLE`.
    """
    if unknown := sorted(set(accept) - set(ACCEPTABLE)):
        raise BadInputError(
            f"{unknown[0]!r} cannot be accepted; expected one of {', '.join(ACCEPTABLE)}"
        )
    if not common_measures(a, b):
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


def _corpora(run: Document) -> dict[str, Document]:
    return {corpus["corpus"]: corpus for corpus in run["run"]["corpora"]}


def _short(value: object) -> str:
    return str(value)[:12]
