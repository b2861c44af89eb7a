from __future__ import annotations

from retrieval_eval.agents.traces.formats import read_document
from retrieval_eval.agents.traces.tokens import count_tokens

USAGE = {"prompt_tokens": 90, "completion_tokens": 10, "model": "m"}


def entry(call_id, name="Read", arguments='{"filepath": "a.py"}', text="x", **state):
    call = {"id": call_id, "function": {"name": name, "arguments": arguments}}
    message = {"role": "assistant", "content": "", "toolCalls": [call], "usage": USAGE}
    known = {"toolCallId": call_id, "status": "done", "output": [{"content": text}], **state}
    return {"message": message, "contextItems": [], "toolCallStates": [known]}


def read(*history, **more):
    stated = {"sessionId": "s", "workspaceDirectory": "file:///w%20x", "history": list(history)}
    return read_document({**stated, "usage": {"totalCost": 0.5}, **more}, "s.json")


def test_a_session_states_folder_model_tokens_and_cost():
    reading = read(entry("c", text="Content of a.py:\nx = 1\n"))
    (call,) = reading.calls
    assert (call.arguments, call.result.text) == ({"filepath": "a.py"}, "x = 1\n")
    assert (reading.format, reading.harness, reading.cwd) == (
        "continue-session",
        "continue",
        "/w x",
    )
    assert (reading.model, reading.declared_cost_usd) == ("m", 0.5)
    assert count_tokens(reading.items) == 100


def test_what_a_command_printed_until_it_was_ended_was_not_answered():
    reading = read(entry("c", "Bash", '{"command": "ls"}', "a.py", status="calling"))
    assert reading.calls[0].result is None


def test_a_summary_leaves_out_what_it_replaced():
    summary = {"message": {"role": "assistant", "content": "So far."}, "contextItems": []}
    reading = read({**summary, "conversationSummary": "So far."}, entry("c"))
    assert reading.flags == ("history_compacted",)


def test_what_an_editor_adds_to_a_prompt_is_attached():
    file = {"content": "x", "uri": {"type": "file", "value": "file:///w/b%20c.md"}}
    prompt = {"message": {"role": "user", "content": "go"}, "contextItems": [file, {"content": 1}]}
    reading = read(prompt, entry("c"))
    assert [one.path for one in reading.attached] == ["/w/b c.md"]
