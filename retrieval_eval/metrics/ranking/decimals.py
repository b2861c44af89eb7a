"""Decimal numbers in a byte buffer, a column at a time and rounded as ``float`` does."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from retrieval_eval.metrics.ranking.ids import Ints

Floats = NDArray[np.float64]

_CHUNK: Final = 1 << 13
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
    for first in range(0, len(starts), _CHUNK):
        rows = slice(first, first + _CHUNK)
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
    chars = _columns(buffer, starts, min(int(lengths.max(initial=1)), _MAX_LENGTH))
    sizes = np.minimum(lengths, _MAX_LENGTH + 1).astype(np.uint8)
    places = np.arange(len(chars), dtype=np.uint8)[:, np.newaxis]
    is_inside = places < sizes
    digits = chars - _ZERO
    is_digit = (digits < 10) & is_inside
    is_point = (chars == _POINT) & is_inside
    is_negative = chars[0] == _MINUS
    is_other = is_inside ^ is_digit ^ is_point
    is_other[0] &= ~is_negative
    # Digits move what is before them up by ten, the point and the sign leave it.
    digits *= is_digit
    scale = is_digit * np.uint8(9) + np.uint8(1)
    whole = digits[0].astype(np.float64)
    for place in range(1, len(chars)):
        whole *= scale[place]
        whole += digits[place]
    has_point = is_point.any(axis=0)
    n_decimals = np.where(has_point, lengths - 1 - (is_point * places).max(axis=0), 0)
    np.divide(whole, _POWERS[np.minimum(n_decimals, _MAX_LENGTH)], out=out)
    np.negative(out, out=out, where=is_negative)
    is_plain: NDArray[np.bool_] = ~is_other.any(axis=0) & is_digit.any(axis=0) & (whole < _EXACT)
    is_plain &= (is_point.sum(axis=0, dtype=np.int8) <= 1) & (lengths <= _MAX_LENGTH)
    return is_plain


def _columns(buffer: NDArray[np.uint8], starts: Ints, width: int) -> NDArray[np.uint8]:
    """Return the first ``width`` bytes at each start, one place a row."""
    view: NDArray[np.void] = np.ndarray(
        (len(buffer) - width + 1,), dtype=f"V{width}", buffer=buffer, strides=(1,)
    )
    return np.ascontiguousarray(view[starts].view(np.uint8).reshape(-1, width).T)
