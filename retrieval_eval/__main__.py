"""``python -m retrieval_eval`` is the ``retrieval-eval`` command."""

from __future__ import annotations

from retrieval_eval.cli import main

main()
