"""Cline's history: what its messages prove."""

from __future__ import annotations

from typing import Any

from tests.traps import Rows


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


def _ran(command: str, text: str) -> dict[str, Any]:
    return _trial("execute_command", {"command": command}, text)


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The result of the read is the file's content.": _trial(
            "read_file", {"path": "src/a.py"}, "import os"
        ),
        "The answer names the tool of the call before it.": _xml(
            _READ, "[read_file for 'src/a.py'] Result:\nimport os"
        ),
        "Each record of the answer says whether its file was read.": _trial(
            "read_files",
            {"files": [{"path": "src/a.py"}, {"path": "src/b.py"}]},
            '[{"query": "src/a.py", "result": "import os", "success": true}, '
            '{"query": "src/b.py", "result": "", "error": "no such file", "success": false}]',
        ),
    },
    ("read", "?src/a.py"): {
        "Something was read, and the answer does not name the file.": _trial(
            "read_files", {"files": [{"path": "src/a.py"}]}, "import os"
        )
    },
    ("search", "+src/a.py, -src/b.py"): {
        "Each section of the answer names its file.": _trial(
            "search_files",
            {"path": "src", "regex": "x"},
            "Found 1 result.\n\nsrc/a.py\n│----\n│x = 1\n│----\n",
        )
    },
    ("search", "+src/a.py, -a.py"): {
        "Names above definitions are relative to the folder that was requested.": _trial(
            "list_code_definition_names", {"path": "src"}, "a.py\n|----\n│def f():\n|----\n"
        )
    },
    ("listing", "+src/a.py, -src/b.py"): {
        "The answer lists the names in the folder.": _trial(
            "list_files", {"path": "src"}, "a.py\nlib/"
        )
    },
    ("failed read", "-src/a.py"): {
        "The answer is the sentence of a failure.": _xml(
            _READ,
            "[read_file for 'src/a.py'] Result:\nThe tool execution failed with the following "
            "error:\n<error>\nError reading file: not there\n</error>",
        )
    },
    ("denied", "-src/a.py"): {
        "The user denied the call.": _xml(
            _READ, "[read_file for 'src/a.py'] Result:\nThe user denied this operation."
        )
    },
    ("timed out", "-src/a.py"): {
        "The command has printed nothing so far.": _trial(
            "execute_command",
            {"command": "cat src/a.py"},
            "Command is still running in the user's terminal.",
        )
    },
    ("background", "-src/a.py"): {
        "The command had printed nothing, and no later answer shows more.": _trial(
            "execute_command",
            {"command": "cat src/a.py"},
            "Command is still running in the user's terminal.\n\nYou will be updated on the "
            "terminal status and new output in the future.",
        )
    },
    ("sub-agent", "?src/a.py"): {
        "The history of the sub-agent is a file of its own, which is not there.": _trial(
            "spawn_agent", {"task": "look"}, '{"text": "It is in src/a.py."}'
        )
    },
    ("truncated output", "+src/a.py"): {
        "What the command printed so far was shown.": _trial(
            "execute_command",
            {"command": "cat src/a.py"},
            "Command is still running in the user's terminal.\nHere's the output so far:\n"
            "import os",
        )
    },
    ("write", "-src/a.py"): {
        "An edit echoes what was written, which is no file that the agent found.": _trial(
            "write_to_file",
            {"path": "src/a.py", "content": "x"},
            "<final_file_content path='src/a.py'>\nx\n</final_file_content>",
        )
    },
    ("write", "+src/a.py"): {
        "The answer to the edit shows the whole file.": _trial(
            "replace_in_file",
            {"path": "src/a.py", "diff": "x"},
            "The content was successfully saved to src/a.py.\n\n"
            '<final_file_content path="src/a.py">\nimport os\n</final_file_content>',
        )
    },
}

SHELL = _ran
