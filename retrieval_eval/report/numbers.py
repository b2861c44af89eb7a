"""Numbers as they are printed: two decimals, signed differences, a dash for unknown."""

from __future__ import annotations

import math
from typing import Any, Final

from retrieval_eval import values

MISSING: Final = "—"
"""What is printed for a value that is not computable; never 0 and never blank."""


def finite(value: Any) -> float | None:
    """Return ``value`` as a finite float, or None for anything else (booleans included).

    Examples
    --------
    >>> finite(2), finite("2"), finite(float("nan")), finite(True)
    (2.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def rate(value: Any, digits: int = 2) -> str:
    """Return a rate or score with two decimals, or the dash.

    Examples
    --------
    >>> rate(0.125), rate(None)
    ('0.12', '—')
    """
    number = finite(value)
    return MISSING if number is None else _grouped(number, digits)


def signed(value: Any, digits: int = 2) -> str:
    """Return a difference with its sign, or the dash."""
    number = finite(value)
    return MISSING if number is None else values.signed(number, digits)


def contribution(value: Any) -> str:
    """Return what one query adds to a difference, or the dash."""
    number = finite(value)
    return MISSING if number is None else values.contribution(number)


def band(value: Any) -> str:
    """Return how far to either side of 0 a range goes.

    Examples
    --------
    >>> band(0.25), band(0.0), band(None)
    ('±0.25', '0', '—')
    """
    number = finite(value)
    return f"±{rate(number)}" if number else "0" if number == 0 else MISSING


def interval(low: Any, high: Any, digits: int = 2) -> str:
    """Return ``[low, high]`` with signs, or the dash when one end is unknown.

    An interval that excludes 0 has as many decimals as it takes to see that.

    Examples
    --------
    >>> interval(-0.1, 0.2), interval(0.0031, 0.2)
    ('[−0.10, +0.20]', '[+0.003, +0.200]')
    """
    first, last = finite(low), finite(high)
    if first is None or last is None:
        return MISSING
    return f"[{', '.join(values.signed_ends(first, last, digits))}]"


def bound(value: Any) -> str:
    """Return the end of an interval of differences: one that is not 0 never looks like 0.

    Examples
    --------
    >>> bound(0.126), bound(0.0), bound(-0.0021), bound(None)
    ('+0.13', '0.00', '−0.002', '—')
    """
    number = finite(value)
    return contribution(number) if number and not round(number, 2) else signed(number)


def times_bound(value: Any) -> str:
    """Return the end of an interval of ratios: one that is not 1 never looks like 1.

    Examples
    --------
    >>> times_bound(1.27), times_bound(1.0), times_bound(1.0021), times_bound(None)
    ('×1.27', '×1.00', '×1.002', '—')
    """
    number = finite(value)
    if number is None or number == 1 or round(number, 2) != 1:
        return times(number)
    (end, _) = values.ends_beside(number, number, 1.0, _factor)
    return f"×{end}"


def times(value: Any) -> str:
    """Return a ratio as a factor, with three significant digits or so, or the dash.

    Examples
    --------
    >>> times(1.27), times(0.504), times(12.34), times(1234.5), times(0.00123), times(None)
    ('×1.27', '×0.50', '×12.3', '×1,234', '×0.0012', '—')
    """
    number = finite(value)
    if number is None:
        return MISSING
    if 0 < number < 0.1:
        return f"×{number:.2g}"
    return f"×{_grouped(number, 2 if number < 10 else 1 if number < 100 else 0)}"


def times_interval(low: Any, high: Any) -> str:
    """Return the interval of a ratio, or the dash when one end is unknown.

    An interval that excludes 1 has as many decimals as it takes to see that.

    Examples
    --------
    >>> times_interval(1.1, 1.46), times_interval(1.1, None), times_interval(1.0021, 1.46)
    ('[1.10, 1.46]', '—', '[1.002, 1.460]')
    """
    first, last = finite(low), finite(high)
    if first is None or last is None:
        return MISSING
    return f"[{', '.join(values.ends_beside(first, last, 1.0, _factor))}]"


def _factor(value: float, digits: int) -> str:
    return times(value)[1:] if digits == 2 else _grouped(value, digits)


def count(value: Any) -> str:
    """Return a count with thousands separated, or the dash."""
    number = finite(value)
    return MISSING if number is None else f"{number:,.0f}"


def of(part: Any, whole: Any) -> str:
    """Return ``part of whole``, the form in which a share carries its denominator.

    Examples
    --------
    >>> of(3, 1200)
    '3 of 1,200'
    """
    return f"{count(part)} of {count(whole)}"


def p_value(value: Any) -> str:
    """Return a p or q value; small ones as a bound."""
    number = finite(value)
    if number is None:
        return MISSING
    return "< 0.001" if number < 0.001 else f"{number:.3f}"


def _grouped(number: float, digits: int) -> str:
    return f"{number:,.{digits}f}".replace("-", "−") if round(number, digits) else f"{0:.{digits}f}"
