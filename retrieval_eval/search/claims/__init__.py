"""Claim coverage: how much of a drafted answer the documents labelled relevant support."""
