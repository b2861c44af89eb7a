"""Comparing a search run with a baseline: thresholds, verdicts, and how these are shown."""
