"""Complaints about parts of a trace, counted so that a broken file does not fill a report."""

from __future__ import annotations

from retrieval_eval.io.files import Line

_SHOWN = 3


class Complaints:
    """Collects lines, or steps of a document, that could not be used, as sentences.

    Parameters
    ----------
    name
        The file's name in messages.
    unit
        What the file consists of: ``line`` or ``step``.
    """

    def __init__(self, name: str, unit: str = "line") -> None:
        self._name = name
        self._unit = unit
        self._sentences: list[str] = []
        self._count = 0

    def add(self, line: Line) -> None:
        """Note a line that holds no JSON object."""
        expected = f"{self._name}: line {line.number}: expected a JSON object"
        self._add(line.problem or expected)

    def note(self, where: str, what: str) -> None:
        """Note what is wrong at a place, which names file and line or step."""
        self._add(f"{where}: {what}")

    def _add(self, sentence: str) -> None:
        self._count += 1
        if len(self._sentences) < _SHOWN:
            self._sentences.append(sentence)

    def sentences(self) -> tuple[str, ...]:
        """Return at most four sentences naming file and line or step."""
        n_more = self._count - len(self._sentences)
        if not n_more:
            return tuple(self._sentences)
        return (*self._sentences, f"{self._name}: {n_more} further {self._unit}s cannot be used")

    def flags(self) -> tuple[str, ...]:
        """Return the quality flag for unusable parts, if there were any."""
        return (f"malformed_{self._unit}",) if self._count else ()
