"""Lists of words, written as text."""

from __future__ import annotations


def word_list(text: str) -> tuple[str, ...]:
    """Return the words of a text in their order.

    Examples
    --------
    >>> word_list("one two")
    ('one', 'two')
    """
    return tuple(text.split())
