"""Cline's history: what its messages prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Trap


def _text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


_DETAILS = _text(
    "<environment_details>\n# Current Working Directory (/workspace) Files\n</environment_details>"
)


def _xml(call: str, answer: str | None) -> dict[str, Any]:
    messages = [
        {"role": "user", "content": [_text("<task>x</task>"), _DETAILS]},
        {"role": "assistant", "content": [_text(call)]},
    ]
    if answer is not None:
        messages.append({"role": "user", "content": [_text(answer), _DETAILS]})
    return {"agent/api_conversation_history.json": {"messages": messages}}


def _trial(name: str, arguments: dict[str, Any], answer: str, **more: Any) -> dict[str, Any]:
    call = {"type": "tool_use", "id": "c", "name": name, "input": arguments}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [_text(answer)], **more}
    messages = [
        {"role": "user", "content": [_text("<task>x</task>"), _DETAILS]},
        {"role": "assistant", "content": [call], "modelInfo": {"modelId": "m"}},
        {"role": "user", "content": [result]},
    ]
    return {"agent/sessions/s/s.messages.json": {"messages": messages}}


_READ = "<read_file>\n<path>src/a.py</path>\n</read_file>"

TRAPS = (
    Trap(
        situation="read",
        files=_trial("read_file", {"path": "src/a.py"}, "import os"),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The result of the read is the file's content.",
    ),
    Trap(
        situation="read",
        files=_xml(_READ, "[read_file for 'src/a.py'] Result:\nimport os"),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The answer names the tool of the call before it.",
    ),
    Trap(
        situation="search",
        files=_trial(
            "search_files",
            {"path": "src", "regex": "x"},
            "Found 1 result.\n\nsrc/a.py\n│----\n│x = 1\n│----\n",
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="Each section of the answer names its file.",
    ),
    Trap(
        situation="listing",
        files=_trial("list_files", {"path": "src"}, "a.py\nlib/"),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="The answer lists the names in the folder.",
    ),
    Trap(
        situation="failed read",
        files=_xml(
            _READ,
            "[read_file for 'src/a.py'] Result:\nThe tool execution failed with the following "
            "error:\n<error>\nError reading file: not there\n</error>",
        ),
        expected={"src/a.py": "none"},
        reason="The answer is the sentence of a failure.",
    ),
    Trap(
        situation="denied",
        files=_xml(_READ, "[read_file for 'src/a.py'] Result:\nThe user denied this operation."),
        expected={"src/a.py": "none"},
        reason="The user denied the call.",
    ),
    Trap(
        situation="timed out",
        files=_trial(
            "execute_command",
            {"command": "cat src/a.py"},
            "Command is still running in the user's terminal.",
        ),
        expected={"src/a.py": "none"},
        reason="The command has printed nothing so far.",
    ),
    Trap(
        situation="truncated output",
        files=_trial(
            "execute_command",
            {"command": "cat src/a.py"},
            "Command is still running in the user's terminal.\nHere's the output so far:\n"
            "import os",
        ),
        expected={"src/a.py": "certain"},
        reason="What the command printed so far was shown.",
    ),
    Trap(
        situation="write",
        files=_trial(
            "write_to_file",
            {"path": "src/a.py", "content": "x"},
            "<final_file_content path='src/a.py'>\nx\n</final_file_content>",
        ),
        expected={"src/a.py": "none"},
        reason="An edit echoes what was written, which is no file that the agent found.",
    ),
    Trap(
        situation="background",
        files=_trial(
            "execute_command",
            {"command": "cat src/a.py"},
            "Command is still running in the user's terminal.\n\nYou will be updated on the "
            "terminal status and new output in the future.",
        ),
        expected={"src/a.py": "none"},
        reason="The command had printed nothing, and no later answer shows more.",
    ),
    Trap(
        situation="search",
        files=_trial(
            "list_code_definition_names", {"path": "src"}, "a.py\n|----\n│def f():\n|----\n"
        ),
        expected={"src/a.py": "certain", "a.py": "none"},
        reason="Names above definitions are relative to the folder that was requested.",
    ),
    Trap(
        situation="read",
        files=_trial(
            "read_files",
            {"files": [{"path": "src/a.py"}, {"path": "src/b.py"}]},
            '[{"query": "src/a.py", "result": "import os", "success": true}, '
            '{"query": "src/b.py", "result": "", "error": "no such file", "success": false}]',
        ),
        expected={"src/a.py": "certain", "src/b.py": "none"},
        reason="Each record of the answer says whether its file was read.",
    ),
    Trap(
        situation="read",
        files=_trial("read_files", {"files": [{"path": "src/a.py"}]}, "import os"),
        expected={"src/a.py": "possible"},
        reason="Something was read, and the answer does not name the file.",
    ),
    Trap(
        situation="two checkouts",
        files=_trial("execute_command", {"command": "cd lib && cat src/a.py"}, "x = 1"),
        expected={"src/a.py": "none", "lib/src/a.py": "certain"},
        reason="The command ran in the other folder, whose file has the same name.",
    ),
    Trap(
        situation="sub-agent",
        files=_trial("spawn_agent", {"task": "look"}, '{"text": "It is in src/a.py."}'),
        expected={"src/a.py": "possible"},
        reason="The history of the sub-agent is a file of its own, which is not there.",
    ),
    Trap(
        situation="write",
        files=_trial(
            "replace_in_file",
            {"path": "src/a.py", "diff": "x"},
            "The content was successfully saved to src/a.py.\n\n"
            '<final_file_content path="src/a.py">\nimport os\n</final_file_content>',
        ),
        expected={"src/a.py": "certain"},
        reason="The answer to the edit shows the whole file.",
    ),
)
