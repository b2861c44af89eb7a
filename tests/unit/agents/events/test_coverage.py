from __future__ import annotations

import pytest

from retrieval_eval.agents.events import extract_events
from retrieval_eval.agents.events.document import coverage
from retrieval_eval.records import Trace
from tests.trials import truth


@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("subagent_elsewhere", "sub-agents whose calls lie in other files"),
        ("continued_elsewhere", "continues in another file"),
    ],
)
def test_a_trace_that_continues_in_another_file_is_incomplete(flag, words):
    trace = Trace((), "test", "trajectory", True, False, flags=(flag,))
    block = coverage(extract_events(trace, truth("a.py")), trace, None)
    assert words in block.degraded_reason
    assert block.degraded_sources == ("trace",)
