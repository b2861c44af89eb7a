"""The ``retrieval-eval`` command."""

from __future__ import annotations

from retrieval_eval.cli.main import main

__all__ = ["main"]
