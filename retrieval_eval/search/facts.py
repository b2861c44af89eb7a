"""What a retriever says about itself, as JSON."""

from __future__ import annotations

import json
from typing import Any

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import json_bytes
from retrieval_eval.search.protocol import Described


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
