"""Measures as small named tuples, and the strings that name them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from retrieval_eval.errors import BadInputError

Gain = Literal["linear", "exp"]


class Definition(NamedTuple):
    """What a measure is: in one phrase, in LaTeX, and where the definition comes from.

    In formulae the ranking has the grades g₁, g₂, … (0 without a judgement) and n documents; rᵢ
    is 1 if gᵢ is at least ``rel``, else 0; R documents are relevant; g* is the ideal order of the
    grades (``gain=exp`` puts 2^g − 1 for g); N documents are judged not relevant, nᵢ of them above
    rank i. Without a cut-off, k is n.
    """

    meaning: str
    formula: str
    source: str = "trec_eval"


DEFINITIONS: Final[dict[str, Definition]] = {
    "P": Definition(
        "relevant documents of the first k / k, also where fewer were returned",
        r"P@k = \frac{1}{k} \sum_{i=1}^{k} r_i",
    ),
    "Recall": Definition(
        "relevant documents of the first k / all relevant documents of the gold set",
        r"\mathrm{Recall}@k = \frac{1}{R} \sum_{i=1}^{k} r_i",
    ),
    "F1": Definition(
        "harmonic mean of precision and recall",
        r"F_1@k = \frac{2}{k + R} \sum_{i=1}^{k} r_i",
    ),
    "RR": Definition(
        "1 / rank of the first relevant document, 0 without one; its mean is the MRR",
        r"\mathrm{RR} = \frac{1}{\min \{ i : r_i = 1 \}}",
    ),
    "AP": Definition(
        "precision at each relevant document, summed / all relevant documents; its mean is the MAP",
        r"\mathrm{AP} = \frac{1}{R} \sum_{i} r_i \, P@i",
    ),
    "nDCG": Definition(
        "discounted grades of the first k / those of the ideal order",
        r"\mathrm{nDCG}@k = \frac{\sum_{i=1}^{k} g_i / \log_2 (i + 1)}"
        r"{\sum_{i=1}^{k} g^{*}_i / \log_2 (i + 1)}",
        "trec_eval; Järvelin & Kekäläinen (2002)",
    ),
    "Success": Definition(
        "1 if any document of the first k is relevant, else 0",
        r"\mathrm{Success}@k = \max_{i \le k} r_i",
    ),
    "Rprec": Definition(
        "precision among the first R, where R documents are relevant",
        r"\mathrm{Rprec} = \frac{1}{R} \sum_{i=1}^{R} r_i",
    ),
    "bpref": Definition(
        "how rarely a document judged not relevant is above a relevant one",
        r"\mathrm{bpref} = \frac{1}{R} \sum_{i} r_i "
        r"\left( 1 - \frac{\min (n_i, R)}{\min (N, R)} \right)",
        "trec_eval; Buckley & Voorhees (2004)",
    ),
    "Judged": Definition(
        "judged documents of the first k / documents there (says nothing of quality)",
        r"\mathrm{Judged}@k = \frac{|\{ i \le k : \text{document } i \text{ is judged} \}|}"
        r"{\min (k, n)}",
        "ir_measures",
    ),
}
"""Every measure, in the order in which reports list them."""

NAMES: Final = tuple(DEFINITIONS)
"""The names of the measures."""

MAX_CUTOFF: Final = 10**9 - 1
"""The highest cut-off that a measure can be named with."""

_FORM: Final = re.compile(r"([A-Za-z0-9]{1,9})(?:\(([a-z0-9=,]{1,20})\))?(?:@([0-9]{1,9}))?")
_HAS_NO_CUTOFF: Final = frozenset({"Rprec", "bpref"})
_ORDINARY: Final = ("P@5", "Recall@20", "F1@5", "RR", "RR@10", "AP", "nDCG@10")


class Measure(NamedTuple):
    """One ranking measure.

    ``cutoff`` is the k of ``@k`` (None: the whole ranking), ``rel`` the lowest grade that
    counts as relevant, and ``gain`` what nDCG makes of a grade: the grade itself or
    ``2 ** grade - 1``. nDCG uses every positive grade, whatever ``rel`` is.

    Examples
    --------
    >>> str(Measure("P", 5, rel=2)), str(Measure("nDCG", 10, gain="exp"))
    ('P(rel=2)@5', 'nDCG(gain=exp)@10')
    """

    name: str
    cutoff: int | None = None
    rel: int = 1
    gain: Gain = "linear"

    def __str__(self) -> str:
        options = f"(rel={self.rel})" if self.rel != 1 else ""
        if self.gain != "linear":
            options = f"(gain={self.gain})"
        return f"{self.name}{options}" + (f"@{self.cutoff}" if self.cutoff else "")


@lru_cache(maxsize=1024)
def parse_measure(text: str) -> Measure:
    """Return the measure that ``text`` names.

    ``NAME``, ``NAME@k``, ``NAME(rel=2)@k`` or ``nDCG(gain=exp)@k`` with a name of
    :data:`NAMES`. P, Recall, F1 and Judged without cut-off look at the whole ranking.

    Raises
    ------
    BadInputError
        When there is no such measure; the message names the nearest one.

    Examples
    --------
    >>> parse_measure("Recall@20")
    Measure(name='Recall', cutoff=20, rel=1, gain='linear')
    """
    match = _FORM.fullmatch(text)
    if match is None or match[1] not in NAMES:
        raise BadInputError(_unknown(text))
    name, option, k = match.groups()
    measure = Measure(name, None if k is None else int(k))
    if option is not None:
        measure = _with_option(measure, option, text)
    if k is not None and (name in _HAS_NO_CUTOFF or int(k) == 0):
        raise BadInputError(f"{text!r}: {name} takes no such cut-off")
    if k is None and name == "Success":
        raise BadInputError(f"{text!r}: Success needs a cut-off, such as Success@5")
    return measure


def as_measures(measures: Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Return the measures without repeats, in the order given.

    Raises
    ------
    BadInputError
        When one is unknown, or ``measures`` is a single string.
    """
    if isinstance(measures, str):
        raise BadInputError(f"give the measures as a list: [{measures!r}]")
    return tuple(dict.fromkeys(parse_measure(str(measure)) for measure in measures))


def _with_option(measure: Measure, option: str, text: str) -> Measure:
    key, _, value = option.partition("=")
    if measure.name == "nDCG" and key == "gain" and value in ("linear", "exp"):
        return measure._replace(gain="exp" if value == "exp" else "linear")
    takes_rel = measure.name not in ("nDCG", "Judged")
    if takes_rel and key == "rel" and value.isdigit() and int(value) >= 1:
        return measure._replace(rel=int(value))
    raise BadInputError(
        f"{text!r}: the options are rel=1, rel=2, ... (not for nDCG and Judged)"
        " and, for nDCG, gain=exp"
    )


def _unknown(text: str) -> str:
    import difflib

    folded = {known.lower(): known for known in (*_ORDINARY, *NAMES)}
    aliases = {"mrr": "RR", "map": "AP", "r": "Recall", "precision": "P", "ndcg": "nDCG"}
    stem, _, cutoff = text[:40].partition("@")
    name = aliases.get(stem.lower()) or folded.get(stem.lower())
    at = "@" if cutoff.isdecimal() else ""
    near = difflib.get_close_matches(text[:40].lower(), folded, n=1)
    hint = f"{name}{at}{at and cutoff}" if name else folded[near[0]] if near else "nDCG@10"
    return f"unknown measure {text[:40]!r}; did you mean {hint!r}? Known are {', '.join(NAMES)}"
