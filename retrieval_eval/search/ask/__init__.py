"""Retrievers: who answers queries."""
