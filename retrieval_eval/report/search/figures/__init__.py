"""Figures of the search report."""
