"""Codex: what its session files and its stream prove."""

from __future__ import annotations

import json
from typing import Any

from tests.traps import Rows

CALL = tuple[str, dict[str, Any], Any]


def _line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-02-03T10:00:00Z", "type": kind, "payload": payload}


def _session(*steps: CALL, **meta: Any) -> list[dict[str, Any]]:
    """Return a session of calls: name, arguments and output (None: none)."""
    stated = {"id": "main", "cwd": "/workspace", "cli_version": "0.150.0", **meta}
    lines = [_line("session_meta", **stated), _line("turn_context", cwd="/workspace", model="m")]
    for number, (name, arguments, output) in enumerate(steps):
        item = {"name": name, "call_id": f"{stated['id']}{number}"}
        if "input" in arguments:
            call = {"type": "custom_tool_call", **item, **arguments}
        else:
            call = {"type": "function_call", **item, "arguments": json.dumps(arguments)}
        lines.append(_line("response_item", **call))
        if output is not None:
            kind = f"{call['type']}_output"
            lines.append(_line("response_item", type=kind, call_id=item["call_id"], output=output))
    return lines


def _trial(*steps: CALL) -> dict[str, Any]:
    return {"agent/sessions/2026/02/03/rollout-a.jsonl": _session(*steps)}


def _shown(output: str, code: int = 0) -> str:
    return (
        f"Chunk ID: 1a\nWall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\n{output}"
    )


def _run(command: str, output: str | None) -> CALL:
    return "exec_command", {"cmd": command}, output


RUNNING = "Chunk ID: 1a\nWall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\n"
CELL = 'const r = await tools.exec_command({cmd: "cat src/a.py"}); text(r.output.slice(0, 9))'
DONE = "Script completed\nWall time 0.2 seconds\nOutput:\n"


def _code_mode(output: str) -> dict[str, Any]:
    """Return a session in which a script reads a file, and what the script prints."""
    (first, second, call, answer) = _session(("exec", {"input": CELL}, output))
    event = {
        "type": "CommandExecution",
        "id": "exec-1",
        "command": ["bash", "-lc", "cat src/a.py"],
        "cwd": "/workspace",
        "status": "completed",
        "exit_code": 0,
        "aggregated_output": "import os\nimport re\n",
    }
    item = _line("event_msg", type="item_completed", item=event)
    return {"agent/sessions/rollout-a.jsonl": [first, second, call, item, answer]}


def _stream(**item: Any) -> dict[str, Any]:
    command = {"id": "item_0", "type": "command_execution", "exit_code": 0, "status": "completed"}
    return {
        "agent/codex.txt": [
            {"type": "thread.started", "thread_id": "main"},
            {"type": "turn.started"},
            {"type": "item.completed", "item": {**command, **item}},
            {"type": "turn.completed", "usage": {"input_tokens": 9, "output_tokens": 1}},
        ]
    }


def _trajectory(name: str, arguments: dict[str, Any], content: str | None) -> dict[str, Any]:
    """Return a trajectory made from a session, with one call."""
    call = {"tool_call_id": "c", "function_name": name, "arguments": arguments}
    result = {"source_call_id": "c", "content": content}
    step = {"step_id": 1, "source": "agent", "tool_calls": [call]}
    return {
        "agent/trajectory.json": {
            "schema_version": "ATIF-v1.7",
            "agent": {"name": "codex"},
            "steps": [{**step, "observation": {"results": [result]}}],
        }
    }


def _one(*step: Any) -> dict[str, Any]:
    return _trial(step)


def _ran(command: str, output: str) -> dict[str, Any]:
    return _trial(_run(command, output))


def _shows(command: str, text: str, code: int = 0) -> dict[str, Any]:
    return _ran(command, _shown(text, code))


TRAPS: Rows = {
    ("read", "+src/a.py, -src/b.py"): {
        "The command names the file and printed lines.": _shows(
            "sed -n '1,9p' src/a.py", "import os"
        ),
        "A trajectory keeps the envelope, in which the command printed lines.": _trajectory(
            "exec_command", {"cmd": "cat src/a.py"}, _shown("import os")
        ),
    },
    ("read", "+src/a.py"): {
        "The tool answered with numbered lines of the file.": _one(
            "read_file", {"file_path": "/workspace/src/a.py"}, "L1: import os"
        ),
        "The stream holds the output of the command that names the file.": _stream(
            command="bash -lc 'cat src/a.py'", aggregated_output="import os"
        ),
    },
    ("read", "+docs/a.png, -docs/b.png"): {
        "The agent was shown the image.": _one(
            "view_image",
            {"path": "/workspace/docs/a.png"},
            [{"type": "input_image", "image_url": "data:image/png;base64,aaaa"}],
        )
    },
    ("search", "+src/a.py, -src/b.py"): {
        "A line of the output begins with the path.": _shows(
            "rg -n Retry", "src/a.py:3:class Retry"
        )
    },
    ("search", "-src/a.py"): {
        "A search that printed nothing found nothing.": _shows("rg -n Retry src", "", 1)
    },
    ("listing", "+src/lib/a.py, -src/a.py"): {
        "The entry is indented below the folder it lies in.": _one(
            "list_dir",
            {"dir_path": "/workspace/src"},
            "Absolute path: /workspace/src\nlib/\n  a.py",
        )
    },
    ("failed read", "-src/a.py"): {
        "The program says that there is no such file.": _shows(
            "cat src/a.py", "cat: src/a.py: No such file or directory", 1
        )
    },
    ("failed read", "+src/a.py, -src/b.py"): {
        "What was printed before the error was seen.": _shows(
            "cat src/a.py src/b.py", "import os\ncat: src/b.py: No such file or directory", 1
        )
    },
    ("denied", "-src/a.py"): {
        "The user did not let the command run.": _ran(
            "cat src/a.py", "exec command rejected by user"
        ),
        "The status says that the command was declined.": _stream(
            command="bash -lc 'cat src/a.py'",
            aggregated_output="",
            status="declined",
            exit_code=None,
        ),
        "A trajectory keeps the message of the command that did not run.": _trajectory(
            "shell", {"command": ["cat", "src/a.py"]}, "exec command rejected by user"
        ),
        "The harness could not read the call and ran nothing.": _ran(
            "cat src/a.py", "failed to parse function arguments: invalid type"
        ),
        "The command requested more rights, and was refused.": _ran(
            "cat src/a.py",
            "approval policy is Never; reject command \u2014 you cannot ask for escalated "
            "permissions if the approval policy is Never",
        ),
    },
    ("timed out", "-src/a.py"): {
        "The command was killed before it printed anything.": _one(
            "shell",
            {"command": ["bash", "-lc", "cat src/a.py"]},
            "Exit code: 124\nWall time: 9 seconds\nOutput:\n"
            "command timed out after 9000 milliseconds\n",
        )
    },
    ("background", "+src/a.py, -src/b.py"): {
        "A later call fetched the output of the command.": _trial(
            _run("make && cat src/a.py", RUNNING),
            ("write_stdin", {"session_id": 7, "chars": ""}, _shown("import os")),
        )
    },
    ("background", "?src/a.py, -src/b.py"): {
        "The command was still running, and its output was never fetched.": _ran(
            "make && cat src/a.py", RUNNING
        )
    },
    ("sub-agent", "+src/a.py"): {
        "The sub-agent's own file is beside that of the main thread.": {
            "agent/sessions/rollout-a.jsonl": _session(("spawn_agent", {"message": "look"}, "{}")),
            "agent/sessions/rollout-b.jsonl": _session(
                _run("cat src/a.py", _shown("import os")),
                id="sub",
                source={"subagent": {"thread_spawn": {"parent_thread_id": "main"}}},
            ),
        }
    },
    ("sub-agent", "?src/a.py"): {
        "A script started the sub-agent, whose own file is not there.": _one(
            "exec", {"input": "text(await tools.spawn_agent({message: 'look'}))"}, f"{DONE}7b"
        ),
        "Whoever waits for a sub-agent had one started; none of its calls is there.": _stream(
            type="collab_tool_call", tool="wait", receiver_thread_ids=[]
        ),
    },
    ("sub-agent", "-src/a.py"): {
        "No sub-agent was started, and waiting for one shows no file.": _trial(
            ("spawn_agent", {"message": "look"}, "Agent depth limit reached. Solve it yourself."),
            ("wait_agent", {"targets": []}, '{"status": {}, "timed_out": true}'),
        )
    },
    ("sub-agent", "+src/a.py, ?src/b.py"): {
        "Of two sub-agents the file of one is not there.": {
            "agent/sessions/rollout-a.jsonl": _session(
                ("spawn_agent", {"message": "look"}, '{"agent_id": "sub"}'),
                ("spawn_agent", {"message": "look there"}, '{"agent_id": "other"}'),
            ),
            "agent/sessions/rollout-b.jsonl": _session(
                _run("cat src/a.py", _shown("import os")), id="sub", parent_thread_id="main"
            ),
        },
        "The sub-agent was started before, and its file is not there.": _trial(
            _run("cat src/a.py", _shown("import os")),
            ("send_input", {"id": "sub", "message": "look there, too"}, '{"submission_id": "1"}'),
        ),
        "A review is the work of another agent, whose file is not there.": {
            "agent/sessions/rollout-a.jsonl": [
                *_session(_run("cat src/a.py", _shown("import os"))),
                _line("event_msg", type="entered_review_mode", user_facing_hint="changes"),
            ]
        },
    },
    ("two checkouts", "+src/a.py, -lib/src/a.py"): {
        "A command starts in the folder of the turn, not where another one ended.": _trial(
            _run("cd lib && ls", _shown("README.md")), _run("cat src/a.py", _shown("import os"))
        )
    },
    ("two checkouts", "+lib/a.py, -a.py"): {
        "The call states the folder the command starts in.": _one(
            "exec_command", {"cmd": "cat a.py", "workdir": "/workspace/lib"}, _shown("import os")
        )
    },
    ("truncated output", "+src/a.py, +src/b.py"): {
        "The agent saw the head and the tail of the output.": _shows(
            "rg -n import",
            "src/a.py:1:import\nsrc/c.py:1:im\u20269 tokens truncated\u2026rt\nsrc/b.py:1:x",
        )
    },
    ("write", "-src/a.py"): {
        "A patch writes a file and does not show it.": _one(
            "apply_patch",
            {"input": "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** End Patch"},
            json.dumps({"output": "Success.", "metadata": {"exit_code": 0}}),
        ),
        "A patch in a here-document writes a file and does not show it.": _shows(
            "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n"
            "*** End Patch\nEOF",
            "Success. Updated the following files:\nM src/a.py",
        ),
    },
    ("write", "-src/a.py, +src/b.py"): {
        "The agent added the file, and its name in the status shows it nothing.": {
            "agent/codex.txt": [
                {"type": "turn.started"},
                {
                    "type": "item.completed",
                    "item": {
                        "id": "item_1",
                        "type": "file_change",
                        "changes": [{"path": "/workspace/src/a.py", "kind": "add"}],
                        "status": "completed",
                    },
                },
                *_stream(
                    command="bash -lc 'git status --short'",
                    aggregated_output="?? src/a.py\n M src/b.py",
                )["agent/codex.txt"],
            ]
        }
    },
    ("other", "+src/a.py, -src/b.py"): {
        "What the script printed holds what the command printed.": _code_mode(
            f"{DONE}import os\nimport re\n"
        )
    },
    ("other", "?src/a.py"): {
        "The script names the file, and what it printed is its choice.": _one(
            "exec", {"input": CELL}, f"{DONE}import os"
        )
    },
    ("other", "?src/a.py, -src/b.py"): {
        "The script printed something else than the whole output of the command.": _code_mode(
            f"{DONE}import os"
        ),
        "A script may have run the command and shown the agent something else of it.": {
            "agent/codex.txt": [
                *_stream(command="bash -lc 'cat src/a.py'", aggregated_output="import os")[
                    "agent/codex.txt"
                ][:-1],
                {
                    "type": "turn.completed",
                    "usage": {"input_tokens": 9, "cache_write_input_tokens": 0, "output_tokens": 1},
                },
            ]
        },
    },
}

SHELL = _shows
