"""Holding a search run against a baseline: thresholds, verdicts, and how these are shown."""
