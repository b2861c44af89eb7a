"""The search report: a search run as frames, sections, notebook and page."""
