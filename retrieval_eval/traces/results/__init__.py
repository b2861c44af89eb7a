"""How the results of file tools are written, one module per family of grammar.

A parser takes a :class:`~retrieval_eval.traces.results.base.Seen` and returns a
:class:`~retrieval_eval.traces.results.base.Found`. It reports what came back, never what was
asked; the one exception is reading or writing exactly the named file successfully.
"""
