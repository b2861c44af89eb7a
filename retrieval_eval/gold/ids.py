"""Stable ids: the same question about the same corpus always has the same one."""

from __future__ import annotations

import hashlib
import unicodedata


def normalize_query(text: str) -> str:
    r"""Return a query in NFC, case-folded, with collapsed white space.

    Queries with the same form are the same query. Case folding can undo the composition, so NFC
    is taken before and after it; normalising twice changes nothing.

    Examples
    --------
    >>> normalize_query("  Betterment\n LEVY ")
    'betterment levy'
    >>> normalize_query("Cafe\u0301") == normalize_query("CAFÉ")
    True
    """
    folded = unicodedata.normalize("NFC", text).casefold()
    return " ".join(unicodedata.normalize("NFC", folded).split())


def query_id(corpus: str, query: str) -> str:
    """Return the id of a query that was given none.

    It is ``g`` and the first 12 hexadecimal digits of the SHA-256 of the corpus, a zero byte and
    the normalised query.

    Examples
    --------
    >>> query_id("precedent_library", "Betterment levy") == query_id(
    ...     "precedent_library", "betterment  LEVY"
    ... )
    True
    """
    content = f"{corpus}\0{normalize_query(query)}".encode("utf-8", "surrogatepass")
    return f"g{hashlib.sha256(content).hexdigest()[:12]}"
