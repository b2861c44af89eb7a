"""What a retriever says about itself, as JSON, and about the documents there are."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import json_bytes
from retrieval_eval.search.protocol import Described, KnowsDocuments


def facts_of(retriever: object) -> dict[str, Any]:
    """Return the facts of a retriever that describes itself, of any other an empty mapping.

    Raises
    ------
    BadInputError
        When ``describe`` raises, or returns what JSON cannot hold.

    Examples
    --------
    >>> facts_of(object())
    {}
    """
    if not isinstance(retriever, Described):
        return {}
    try:
        facts = json.loads(json_bytes(retriever.describe()))
    except Exception as error:
        raise BadInputError(
            f"the retriever's describe() is of no use ({type(error).__name__}: {error});"
            " expected a mapping of JSON values"
        ) from error
    if not isinstance(facts, dict):
        raise BadInputError("the retriever's describe() returned no mapping; expected JSON values")
    return facts


def documents_of(retriever: object) -> dict[str, frozenset[str]] | None:
    """Return the ids of all documents of each corpus, None for a retriever that does not say.

    Raises
    ------
    BadInputError
        When ``known_documents`` raises, or is no mapping from corpora to ids.

    Examples
    --------
    >>> documents_of(object()) is None
    True
    """
    stated: Any = None
    try:
        if isinstance(retriever, KnowsDocuments):
            stated = retriever.known_documents
    except Exception as error:
        raise BadInputError(
            f"the retriever's known_documents is of no use ({type(error).__name__}: {error})"
        ) from error
    if stated is None:
        return None
    if not isinstance(stated, Mapping) or not all(map(_lists_ids, stated, stated.values())):
        raise BadInputError(
            "the retriever's known_documents is of no use; expected the ids of all documents by"
            " corpus, as text"
        )
    return {corpus: frozenset(ids) for corpus, ids in stated.items()}


def _lists_ids(corpus: object, ids: object) -> bool:
    if not isinstance(ids, Collection) or isinstance(ids, str):
        return False
    return all(isinstance(text, str) for text in (corpus, *ids))
