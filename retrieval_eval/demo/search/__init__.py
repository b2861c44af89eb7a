"""A small search collection with planted facts: documents, queries, judgements, and feedback."""

from __future__ import annotations

from retrieval_eval.demo.search.tree import SearchDemo, write_search_demo

__all__ = ["SearchDemo", "write_search_demo"]
