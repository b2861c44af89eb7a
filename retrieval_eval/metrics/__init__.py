"""Metrics of a trial, read off its events: files, chunks, utilization, error modes."""
