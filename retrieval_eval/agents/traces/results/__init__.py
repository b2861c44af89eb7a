"""Parsers of the results of file tools, one module per family of output formats.

A parser takes a :class:`~retrieval_eval.agents.traces.results.base.Seen` and returns a
:class:`~retrieval_eval.agents.traces.results.base.Found`. It reports what was returned, never what
was requested; the one exception is reading or writing exactly the named file successfully.
"""
