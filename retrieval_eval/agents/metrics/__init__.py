"""Metrics of a trial, computed from its events: files, chunks, utilization, error modes."""
