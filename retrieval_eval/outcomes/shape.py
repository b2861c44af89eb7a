"""Fields of a trial's result that hold another type than they should."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from retrieval_eval.outcomes.fields import section

_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "a text": (str,),
    "a number": (int, float),
    "an object": (dict,),
}
_EXPECTED: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("task_name",), "a text"),
    (("verifier_result",), "an object"),
    (("verifier_result", "rewards"), "an object"),
    (("agent_info",), "an object"),
    (("agent_execution",), "an object"),
    (("agent_result",), "an object"),
    (("agent_result", "n_input_tokens"), "a number"),
    (("agent_result", "n_cache_tokens"), "a number"),
    (("agent_result", "n_output_tokens"), "a number"),
    (("agent_result", "cost_usd"), "a number"),
)


def misfits(result: Any) -> Iterator[str]:
    """Yield a sentence for each field of ``result.json`` that cannot be used; null is no misfit.

    Examples
    --------
    >>> list(misfits({"verifier_result": [], "agent_result": {"cost_usd": 0.5}}))
    ['result.json: /verifier_result is no object']
    """
    for keys, kind in _EXPECTED:
        value = section(result, *keys[:-1]).get(keys[-1])
        where = f"result.json: /{'/'.join(keys)}"
        is_fit = isinstance(value, _KINDS[kind]) and not isinstance(value, bool)
        if value is not None and not is_fit:
            yield f"{where} is no {kind.partition(' ')[2]}"
        elif kind == "a number" and value is not None and not 0 <= value < math.inf:
            yield f"{where} is negative or not finite"
