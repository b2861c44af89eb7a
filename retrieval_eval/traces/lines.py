"""Complaints about lines of a trace, counted so that a broken file does not fill a report."""

from __future__ import annotations

from retrieval_eval.io.files import Line

_SHOWN = 3


class Complaints:
    """Collects lines that could not be used and phrases them as sentences."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._sentences: list[str] = []
        self._n_lines = 0

    def add(self, line: Line) -> None:
        """Note a line that holds no JSON object."""
        self._n_lines += 1
        if len(self._sentences) < _SHOWN:
            expected = f"{self._name}: line {line.number}: expected a JSON object"
            self._sentences.append(line.problem or expected)

    def sentences(self) -> tuple[str, ...]:
        """Return at most four sentences naming file and line."""
        n_more = self._n_lines - len(self._sentences)
        if not n_more:
            return tuple(self._sentences)
        return (*self._sentences, f"{self._name}: {n_more} further lines cannot be used")

    def flags(self) -> tuple[str, ...]:
        """Return the quality flag for unusable lines, if there were any."""
        return ("malformed_line",) if self._n_lines else ()
