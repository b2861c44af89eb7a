"""The sections of the search report, one module for each group of them."""
