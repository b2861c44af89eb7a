"""Measuring a retriever against a gold set: runs, their scores, the baseline and the delta."""
