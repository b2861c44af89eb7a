"""Deterministic chance: every draw is a hash of the seed and of what is being decided.

No draw depends on how many draws came before it, so adding a task or a question changes no
other answer, and the numbers are the same on every Python version and platform.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_ALPHABET = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnpqrstuvwxyz"


def _digest(key: tuple[object, ...]) -> bytes:
    return hashlib.blake2b("\x1f".join(map(str, key)).encode(), digest_size=32).digest()


class Dice:
    """Answers to questions, fixed by a scope such as ``(seed, task, config)``.

    Examples
    --------
    >>> Dice(1, "a").unit("x") == Dice(1, "a").unit("x")
    True
    >>> 3 <= Dice(1).whole(3, 5, "n") <= 5
    True
    """

    def __init__(self, *scope: object) -> None:
        self._scope = scope

    def scoped(self, *scope: object) -> Dice:
        """Return dice for a narrower question."""
        return Dice(*self._scope, *scope)

    def unit(self, *key: object) -> float:
        """Return a number in [0, 1)."""
        return int.from_bytes(_digest((*self._scope, *key))[:6], "big") / 2**48

    def between(self, low: float, high: float, *key: object) -> float:
        """Return a number in [low, high)."""
        return low + (high - low) * self.unit(*key)

    def normal(self, *key: object) -> float:
        """Return a draw from the standard normal distribution (Box-Muller)."""
        radius = math.sqrt(-2.0 * math.log(1.0 - self.unit(*key, "radius")))
        return radius * math.cos(2.0 * math.pi * self.unit(*key, "angle"))

    def whole(self, low: int, high: int, *key: object) -> int:
        """Return a whole number from low to high, both included."""
        return low + int(self.unit(*key) * (high - low + 1))

    def chance(self, probability: float, *key: object) -> bool:
        """Return True with the given probability."""
        return self.unit(*key) < probability

    def choice(self, items: Sequence[T], *key: object) -> T:
        """Return one of ``items``, which must not be empty."""
        return items[int(self.unit(*key) * len(items))]

    def shuffled(self, items: Sequence[T], *key: object) -> list[T]:
        """Return ``items`` in a random order."""
        order = sorted(range(len(items)), key=lambda i: (self.unit(*key, i), i))
        return [items[i] for i in order]

    def hexadecimal(self, length: int, *key: object) -> str:
        """Return ``length`` (at most 64) hexadecimal digits."""
        return _digest((*self._scope, *key)).hex()[:length]

    def identifier(self, length: int, *key: object) -> str:
        """Return ``length`` (at most 32) letters and digits."""
        digest = _digest((*self._scope, *key))[:length]
        return "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest)

    def uuid(self, *key: object) -> str:
        """Return 32 hexadecimal digits in the shape of a UUID."""
        h = self.hexadecimal(32, *key)
        return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
