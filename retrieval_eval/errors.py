"""The errors this package raises: what happened, where, and what to do about it.

Incomplete data is never one of them: a trial whose trace or ground truth is missing is
*degraded*, and its coverage records why. These errors are for input that cannot be used at all.
"""

from __future__ import annotations


class RetrievalEvalError(Exception):
    """Base of every error this package raises on purpose."""

    def _render_traceback_(self) -> list[str]:
        """Return what a notebook shows of the error: its sentence, not the calls that led to it."""
        return [f"{type(self).__name__}: {self}"]


class BadInputError(RetrievalEvalError):
    """The caller named something that does not exist or cannot be used (exit code 3)."""


class SchemaError(BadInputError):
    """A document does not follow its schema, or follows one of another major version."""


class NothingToEvaluateError(RetrievalEvalError):
    """The input is well formed but holds nothing to measure (exit code 2)."""


class RenderError(RetrievalEvalError):
    """A report could not be executed or rendered (exit code 4)."""


class FallbackWarning(UserWarning):
    """Something optional failed, and something else took its place; the text says what."""
