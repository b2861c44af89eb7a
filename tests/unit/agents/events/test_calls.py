"""Each call of a trace is reduced to what it did; its result is not kept."""

from __future__ import annotations

from retrieval_eval.agents.events.calls import CallReducer, ReadCall
from retrieval_eval.records import FileRef, Symbol, ToolCall, ToolResult

_SAVED = "/tmp/results/1.txt"
_LINE = "limit = read_limit(config)"

_CALLS = (
    ToolCall("1", "Read", {"file_path": "/workspace/a.py"}, ToolResult(f"1\t{_LINE}\n" * 50)),
    ToolCall("2", "Bash", {"command": "grep -rn limit src"}, ToolResult(f"src/b.py:1:{_LINE}\n")),
    ToolCall(
        "3",
        "Grep",
        {"pattern": "limit", "output_mode": "content"},
        ToolResult(
            f"<persisted-output>\nOutput too large. Full output saved to: {_SAVED}\n{_LINE}"
        ),
    ),
    ToolCall("4", "Read", {"file_path": _SAVED}, ToolResult(f"1\tsrc/c.py:7:{_LINE}\n")),
    ToolCall("5", "Bash", {"command": "cat d.py"}, ToolResult(_LINE, is_error=True)),
    ToolCall("6", "Bash", {"command": "cat e.py"}, None),
)


def _reads(calls: tuple[ToolCall, ...]) -> list[ReadCall]:
    reducer = CallReducer(None, "/workspace")
    return [reducer.take(call) for call in calls]


def test_the_status_of_a_call_is_known_without_its_result():
    assert [read.status for read in _reads(_CALLS)][-2:] == ["error", "without_result"]
    denied = ToolResult("Permission to use Bash has been denied.", is_error=True)
    call = ToolCall("1", "Bash", {"command": "cat a.py"}, denied)
    (read,) = _reads((call,))
    assert read.is_refused
    assert read.has_result


def test_symbols_and_the_reference_change_are_found_in_the_same_pass():
    symbol = Symbol(FileRef("a.py"), "read_limit")
    fix = [_LINE, "if size > limit: raise TooLarge(size)"]
    reducer = CallReducer(None, None, symbols=[symbol], fix_lines=fix)
    shown = ToolResult("def read_limit(config):\n" + "\n".join(f"+{line}" for line in fix))
    reads = [
        reducer.take(ToolCall("1", "Read", {"file_path": "b.py"}, ToolResult("read_limit(x)"))),
        reducer.take(ToolCall("2", "Read", {"file_path": "a.py"}, shown)),
    ]
    assert [read.defined for read in reads] == [(), (symbol,)]
    assert reducer.exposure.found_at == 1
