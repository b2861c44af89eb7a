"""What a trace lacks never makes anything certain that the whole trace does not show."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.agents.events import TrialEvents, extract_events
from retrieval_eval.agents.events.evidence import accesses, why_nothing_is_computable
from retrieval_eval.agents.traces.formats.atif import read_atif
from retrieval_eval.agents.traces.merge import join_trace
from retrieval_eval.agents.traces.reading import Reading
from retrieval_eval.records import Trace
from tests.scenes import Call, atif
from tests.trials import truth

FILES = ["src/a.py", "src/b.py", "lib/c.py", "lib/d.py"]
TRUTH = truth("src/a.py", "lib/c.py")


def reading(path: str) -> Call:
    return Call("Read", {"file_path": f"/workspace/{path}"}, "     1\tx")


calls = st.lists(
    st.one_of(
        st.sampled_from(FILES).map(reading),
        st.sampled_from(FILES).map(lambda p: Call("Bash", {"command": f"cat {p}"}, "x")),
        st.lists(st.sampled_from(FILES), min_size=1, unique=True).map(
            lambda ps: Call("Grep", {"pattern": "x"}, f"Found {len(ps)} files\n" + "\n".join(ps))
        ),
        st.just(Call("Bash", {"command": "make"}, "ok")),
    ),
    min_size=1,
    max_size=8,
)
losses = st.lists(st.tuples(st.integers(0, 7), st.sampled_from(["result", "id", "flag"])))


def read(document: dict[str, Any]) -> tuple[Trace, TrialEvents]:
    found = read_atif(document, "agent/trajectory.json")
    assert isinstance(found, Reading)
    trace = join_trace(found, None)
    return trace, extract_events(trace, TRUTH)


def seen(trial: TrialEvents) -> set[Any]:
    return {(target.file.key, target.access) for _, target in accesses(trial)}


@given(calls, st.integers(1, 3), losses, st.sampled_from(["claude-code", "other-agent"]))
def test_losing_results_or_ids_makes_no_access_certain(made, per_step, lost, agent):
    whole = atif(made, agent=agent, per_step=per_step)
    cut = copy.deepcopy(whole)
    results = [r for step in cut["steps"] for r in step["observation"]["results"]]
    for place, what in lost:
        result = results[place % len(results)]
        if what == "result":
            result["gone"] = True
        elif what == "id":
            result.pop("source_call_id", None)
        else:
            result["extra"] = {"is_error": True}
    for step in cut["steps"]:
        left = [r for r in step["observation"]["results"] if "gone" not in r]
        step["observation"]["results"] = left
    _, before = read(whole)
    trace, after = read(cut)
    assert seen(after) <= seen(before)
    is_unanswered = after.ledger.calls_without_result > 0
    is_doubted = any(call.result is not None and call.result.doubt for call in trace.calls)
    is_incomplete = why_nothing_is_computable(trace, after) == "evidence_incomplete"
    assert is_incomplete <= ((is_unanswered or is_doubted) and not seen(after))
    assert is_incomplete >= (is_unanswered and not seen(after))


@given(calls, st.integers(0, 7))
def test_a_history_without_its_beginning_never_passes_for_a_whole_one(made, n_lost):
    document = atif(made)
    _, before = read(document)
    summary = {
        "source": "user",
        "message": "This session is being continued from a previous conversation.",
    }
    document["steps"] = [summary, *document["steps"][n_lost:]]
    for number, step in enumerate(document["steps"], start=1):
        step["step_id"] = number
    trace, after = read(document)
    assert "history_compacted" in trace.flags
    assert seen(after) <= seen(before)
    assert bool(seen(after)) == (why_nothing_is_computable(trace, after) is None)
