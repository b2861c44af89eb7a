"""Which lines commands select."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.shell.plan import awk_spans, close, sed_spans


@pytest.mark.parametrize(
    ("script", "spans"),
    [
        ("5p", ((5, 5),)),
        ("5,9p", ((5, 9),)),
        ("5,+3p", ((5, 8),)),
        ("9,5p", ((9, 9),)),
        ("10,$p", ((10, None),)),
        ("20,30p;1,5p", ((1, 5), (20, 30))),
        ("5,9p;9q", ((5, 9),)),
        ("1,100p;20q", ((1, 20),)),
        ("20q;1,100p", ((1, 19),)),
        ("50,$p;60q", ((50, 60),)),
        ("30,40p;20q", None),
        ("5,9{p}", None),
        ("/a/,/b/p", None),
        ("$p", None),
        ("5,9d", None),
        ("s/a/b/p", None),
        ("", None),
    ],
)
def test_sed(script, spans):
    assert sed_spans(script) == spans


@pytest.mark.parametrize(
    ("program", "spans"),
    [
        ("NR==5", ((5, 5),)),
        ("FNR>=5 && FNR<=9 {print}", ((5, 9),)),
        ("NR>5 && NR<9", ((6, 8),)),
        ("NR==5,NR==9", ((5, 9),)),
        ("NR<=9", ((1, 9),)),
        ("NR>=5", ((5, None),)),
        ('NR>=5 && NR<=9 {print NR": "$0}', ((5, 9),)),
        ("NR>=5 && /x/", None),
        ("{print $1}", None),
        ("NR%2==0", None),
    ],
)
def test_awk(program, spans):
    assert awk_spans(program) == spans


def test_closing_an_open_span_needs_the_number_of_lines():
    assert close(((10, None),), 3) == ((10, 12),)
    assert close(((1, 2), (10, None)), 5) == ((1, 2), (10, 12))
    assert close(((1, 2), (10, None)), 2) == ((1, 2),)
    assert close(((10, None),), None) is None
    assert close((), 3) is None
    assert close(None, 3) is None
