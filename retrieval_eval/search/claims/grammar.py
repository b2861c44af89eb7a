"""What the rules of splitting know of English: kinds of words, and where a verb stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retrieval_eval.search.claims.negation import NEGATORS
from retrieval_eval.search.claims.vocabulary import word_list
from retrieval_eval.search.claims.words import STOP_WORDS

_WORD: Final = re.compile(r"[^\s,;()\u2014\u2013]+|[,;()\u2014\u2013]")
AUXILIARIES: Final = frozenset(
    word_list(
        "is are was were has have had does do did can could may might will would must shall"
        " should cannot isn't aren't wasn't weren't hasn't haven't doesn't don't didn't can't"
        " won't"
    )
)
VERBS: Final = frozenset(
    word_list(
        "accept accepts allow allows answer answers apply applies begin begins bind binds check"
        " checks close closes collect collects come comes confirm confirms contain contains"
        " control controls cost costs cover covers create creates delete deletes employ employs"
        " encrypt encrypts end ends ensure ensures expire expires follow follows get gets give"
        " gives go goes guarantee guarantees handle handles held hold holds include includes"
        " inform informs keep keeps kept last lasts learn learns limit limits list lists log"
        " logs maintain maintains make makes manage manages mean means need needs offer offers"
        " operate operates perform performs process processes protect protects provide provides"
        " publish publishes put puts receive receives record records refuse refuses remain"
        " remains remove removes replace replaces report reports require requires restore"
        " restores retain retains retry retries return returns review reviews run runs scan"
        " scans see sees send sends serve serves set sets show shows skip skips start starts"
        " state states store stores support supports take takes test tests train trains transfer"
        " transfers update updates use uses verify verifies work works write writes"
    )
)
SUBJECTS: Final = frozenset(
    word_list(
        "we it they you i he she this these those there that everyone everything nobody nothing"
    )
)
DETERMINERS: Final = frozenset(
    word_list(
        "the a an our its their your his her all every each any some no this these those both"
    )
)
PREPOSITIONS: Final = frozenset(
    word_list(
        "in on at by for from to with under over through via of into onto within without after"
        " before during between against among as than per until up"
    )
)
CONDITIONS: Final = frozenset(
    word_list(
        "if when whenever unless whether while before after until where wherever because since"
        " although though once as"
    )
)
RELATIVES: Final = frozenset(word_list("which who whose whom where"))
PARTICIPLES: Final = frozenset(
    word_list(
        "built done drawn found given held kept known led made met paid proven read run seen"
        " sent set shown signed stored taken tested understood written"
    )
)
NEGATIONS: Final = NEGATORS - {"nobody", "nothing"}
_ADVERBS: Final = frozenset(word_list("also always now only be been then both"))


@dataclass(frozen=True, slots=True)
class Word:
    """A word or mark of a text; ``depth`` counts the parentheses around it."""

    start: int
    end: int
    text: str
    depth: int

    @property
    def lower(self) -> str:
        """It in small letters, without quotation marks and full stop."""
        return self.text.lower().strip(".\"'\u201c\u201d")

    @property
    def has_content(self) -> bool:
        """Whether it is a word or number, and no stop word."""
        return self.lower not in STOP_WORDS and any(c.isalnum() for c in self.text)


def words_of(text: str, start: int, end: int) -> list[Word]:
    """Return words, commas and parentheses of ``text[start:end]``."""
    found, depth = [], 0
    for match in _WORD.finditer(text, start, end):
        depth += match[0] == "("
        found.append(Word(match.start(), match.end(), match[0], depth))
        depth = max(0, depth - (match[0] == ")"))
    return found


def first_verb(words: Sequence[Word]) -> tuple[int, int] | None:
    """Return the places of the first and last word of the first group of verbs, if any.

    None also where it belongs to a relative clause: "a script that runs needs ..."
    """
    for first, word in enumerate(words):
        if first and (word.lower in RELATIVES or word.lower == "that"):
            return None
        if word.depth or not is_verb(words, first):
            continue
        last = first
        while last + 1 < len(words) and _goes_on(words[last].lower, words[last + 1].lower):
            last += 1
        return first, last
    return None


def is_verb(words: Sequence[Word], place: int) -> bool:
    """Return whether the word at ``place`` is a finite verb, as far as the rules can tell."""
    word = words[place].lower
    if word in AUXILIARIES:
        return True
    before = words[place - 1].lower if place else ""
    if before in DETERMINERS | PREPOSITIONS or not place:
        return False
    if word in VERBS:
        return True
    following = words[place + 1].lower if place + 1 < len(words) else ""
    opens_object = following in DETERMINERS or following[:1].isdecimal()
    return len(word) > 3 and word.endswith(("s", "ed")) and opens_object and word.isalpha()


def is_participle(word: str) -> bool:
    """Return whether a word looks like a participle, present or past."""
    return (len(word) > 4 and word.endswith(("ed", "ing"))) or word in PARTICIPLES


def begins_clause(words: Sequence[Word]) -> bool:
    """Return whether words begin with a subject that a verb follows."""
    if len(words) < 2:
        return False
    first = words[0].lower
    near = [word.lower for word in words[1:7]]
    if first in SUBJECTS and first not in DETERMINERS:
        return True
    if first in SUBJECTS and near[0] in AUXILIARIES | VERBS:
        return True
    # "jobs run": a plural with a verb that agrees with it.
    if first.endswith("s") and near[0] in VERBS and not near[0].endswith("s"):
        return True
    if first in PREPOSITIONS | AUXILIARIES | NEGATIONS:
        return False
    for word in near:
        if word in {",", "(", ")", "that", "and"} or word in RELATIVES:
            return False
        if word in AUXILIARIES:
            return True
    return first in DETERMINERS and any(word in VERBS for word in near[1:])


def begins_predicate(words: Sequence[Word]) -> bool:
    """Return whether words begin with a verb that has its subject elsewhere."""
    if len(words) < 2:
        return False
    first, second = words[0].lower, words[1].lower
    if first in AUXILIARIES:
        return True
    if first in DETERMINERS | PREPOSITIONS | SUBJECTS or not words[0].text.islower():
        return False
    opens_object = second in DETERMINERS | {"it", "them", "us"} or second[:1].isdecimal()
    is_inflected = first.endswith("s") and not first.endswith("ss")
    return (opens_object or is_inflected) if first in VERBS else is_inflected and opens_object


def _goes_on(word: str, following: str) -> bool:
    if following.endswith("ly") or following in NEGATIONS | _ADVERBS:
        return True
    is_form = is_participle(following) or following in VERBS
    if word in AUXILIARIES | NEGATIONS | _ADVERBS:
        return is_form or following in AUXILIARIES
    return word.endswith("ly") and is_form
