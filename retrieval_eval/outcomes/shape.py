"""Fields of a trial's outcome files that hold another type than they should."""

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
_EXPECTED_METRICS: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("cost_usd",), "a number"),
    (("input_tokens",), "a number"),
    (("output_tokens",), "a number"),
    (("cache_creation_tokens",), "a number"),
    (("cache_read_tokens",), "a number"),
    (("agent_execution_seconds",), "a number"),
    (("wall_clock_seconds",), "a number"),
    (("tool_usage",), "an object"),
    (("tool_usage", "cost_usd"), "a number"),
    (("tool_usage", "total_input_tokens"), "a number"),
    (("tool_usage", "total_output_tokens"), "a number"),
    (("timing",), "an object"),
    (("timing", "agent"), "a number"),
)


def misfits(result: Any, metrics: Any = None) -> Iterator[str]:
    """Yield a sentence for each field of the files that cannot be used; null is no misfit.

    ``result`` is the decoded result.json, ``metrics`` the decoded task_metrics.json.

    Examples
    --------
    >>> list(misfits({"verifier_result": [], "agent_result": {"cost_usd": 0.5}}))
    ['result.json: /verifier_result is no object']
    """
    for name, document, expected in (
        ("result.json", result, _EXPECTED),
        ("task_metrics.json", metrics, _EXPECTED_METRICS),
    ):
        for keys, kind in expected:
            value = section(document, *keys[:-1]).get(keys[-1])
            yield from _misfit(f"{name}: /{'/'.join(keys)}", kind, value)


def _misfit(where: str, kind: str, value: Any) -> Iterator[str]:
    is_fit = isinstance(value, _KINDS[kind]) and not isinstance(value, bool)
    if value is not None and not is_fit:
        yield f"{where} is no {kind.partition(' ')[2]}"
    elif kind == "a number" and value is not None and not 0 <= value < math.inf:
        yield f"{where} is negative or not finite"
