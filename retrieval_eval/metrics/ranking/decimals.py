"""Decimal numbers in a byte buffer, a column at a time and rounded as ``float`` does."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.metrics.ranking.ids import CHUNK, Ints

Floats = NDArray[np.float64]

_MAX_LENGTH: Final = 18
_POWERS: Final = np.array([float(10**exponent) for exponent in range(_MAX_LENGTH + 1)])
_EXACT: Final = 1 << 53
_MINUS, _POINT, _ZERO = (np.uint8(ord(sign)) for sign in "-.0")


def parse_decimals(buffer: NDArray[np.uint8], starts: Ints, lengths: Ints, *, out: Floats) -> bool:
    """Write the numbers at ``starts`` into ``out``; False when one of them is no number.

    A whole number below 2**53 and a power of ten up to 10**22 are exact in binary, so their
    quotient is the correctly rounded number (Clinger 1990); everything longer, or with an
    exponent, goes through ``float``. ``buffer`` has room to read 18 bytes from every start.
    """
    for first in range(0, len(starts), CHUNK):
        rows = slice(first, first + CHUNK)
        is_plain = _parse_plain(buffer, starts[rows], lengths[rows], out[rows])
        for row in (np.flatnonzero(~is_plain) + first).tolist():
            start = int(starts[row])
            try:
                out[row] = float(buffer[start : start + int(lengths[row])].tobytes())
            except ValueError:
                return False
    return True


def _parse_plain(
    buffer: NDArray[np.uint8], starts: Ints, lengths: Ints, out: Floats
) -> NDArray[np.bool_]:
    is_negative = buffer[starts] == _MINUS
    whole = np.zeros(len(starts), dtype=np.int64)
    n_digits = np.zeros(len(starts), dtype=np.int8)
    point = np.full(len(starts), -1, dtype=np.int8)
    is_plain = lengths <= _MAX_LENGTH
    for place in range(min(int(lengths.max(initial=0)), _MAX_LENGTH)):
        sign = buffer[starts + place]
        is_inside = lengths > place
        digit = sign - _ZERO
        is_digit = (digit < 10) & is_inside
        np.multiply(whole, 10, out=whole, where=is_digit)
        np.add(whole, digit, out=whole, where=is_digit)
        n_digits += is_digit
        is_point = (sign == _POINT) & is_inside & (point < 0)
        point[is_point] = place
        is_fitting = is_digit | is_point | ~is_inside
        is_plain &= is_fitting | is_negative if place == 0 else is_fitting
    n_decimals = np.where(point < 0, 0, lengths - point - 1)
    np.divide(whole, _POWERS[np.clip(n_decimals, 0, _MAX_LENGTH)], out=out)
    np.negative(out, out=out, where=is_negative)
    is_plain &= (n_digits > 0) & (whole < _EXACT)
    return is_plain
