"""Sections of reports that are the same for trace runs and search runs."""
