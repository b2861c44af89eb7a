"""A small search collection with planted facts: documents, queries, judgements, and feedback."""

from __future__ import annotations

from tests.simulators.search.tree import simulate_search

__all__ = ["simulate_search"]
