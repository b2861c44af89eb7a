"""Claim coverage: what of a drafted answer stands in the documents that are labelled relevant."""
