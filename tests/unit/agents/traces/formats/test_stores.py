"""The databases of harnesses: each gives what the exported session gives."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from contextlib import closing, suppress

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from retrieval_eval.agents.events.calls import read_calls
from retrieval_eval.agents.traces import NoTraceError, SeveralTracesError, read_trace
from retrieval_eval.cli.trace import trace as command
from tests.conftest import PROFILE
from tests.generated import database

AT = 1770112800000

OPENCODE = """
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text,
  directory text NOT NULL, title text NOT NULL, version text NOT NULL, cost real, model text,
  time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL REFERENCES session(id),
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL REFERENCES message(id),
  session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL,
  data text NOT NULL);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX part_session_idx ON part (session_id);
CREATE TABLE todo (session_id text, content text);
"""


def tool(part_id, name, output, second, call_id=None, **more):
    state = {"status": "completed", "input": {}, "title": "", "metadata": {}, "output": output}
    state |= {"time": {"start": AT + 1000 * second, "end": AT + 1000 * second + 500}, **more}
    call_id = call_id or f"call_{part_id}"
    return {"id": part_id, "type": "tool", "callID": call_id, "tool": name, "state": state}


def step(part_id, **tokens):
    counts = {"input": 100, "output": 20, "reasoning": 5, "cache": {"read": 800, "write": 75}}
    end = {"id": part_id, "type": "step-finish", "reason": "tool-calls", "cost": 0.01}
    return {**end, "tokens": {**counts, **tokens}}


def message(message_id, second, *parts, role="assistant", **more):
    info = {"id": message_id, "role": role, "time": {"created": AT + 1000 * second}, **more}
    if role == "assistant":
        info |= {"modelID": "a-model", "path": {"cwd": "/w", "root": "/w"}}
        info["time"]["completed"] = AT + 1000 * second + 900
    return {"info": info, "parts": list(parts)}


READ = "<path>/w/src/a.py</path>\n<type>file</type>\n<content>\n1: import os\n</content>"
EXPORT = {
    "info": {"id": "ses_1", "directory": "/w", "version": "1.2.10", "title": "t"},
    "messages": [
        message("msg_1", 0, {"id": "prt_1", "type": "text", "text": "Fix it."}, role="user"),
        message(
            "msg_2",
            1,
            {"id": "prt_2", "type": "step-start"},
            tool("prt_3", "read", READ, 2, input={"filePath": "/w/src/a.py"}),
            tool("prt_4", "bash", "b.py\n", 3, input={"command": "ls lib"}, metadata={"exit": 0}),
            step("prt_5"),
        ),
        message(
            "msg_3",
            5,
            tool("prt_6", "edit", "", 6, status="error", error="The user rejected permission"),
            tool("prt_7", "bash", "", 7, status="running", input={"command": "make"}),
            step("prt_8", input=300),
        ),
    ],
}


def opencode(path, *sessions):
    """The database that exported sessions come from; a session may name its parent."""
    database(path, OPENCODE)
    with closing(sqlite3.connect(path)) as connection:
        for number, (export, parent) in enumerate(sessions):
            info = export["info"]
            row = (info["id"], "p", parent, info["directory"], "t", info["version"], 0, None)
            connection.execute(
                "INSERT INTO session VALUES (?,?,?,?,?,?,?,?,?,?)", (*row, AT + number, AT)
            )
            # Rows lie in no particular order.
            for entry in reversed(export["messages"]):
                data = {key: value for key, value in entry["info"].items() if key != "id"}
                when = entry["info"]["time"]["created"]
                connection.execute(
                    "INSERT INTO message VALUES (?,?,?,?,?)",
                    (entry["info"]["id"], info["id"], when, when, json.dumps(data)),
                )
                for part in reversed(entry["parts"]):
                    data = {key: value for key, value in part.items() if key != "id"}
                    connection.execute(
                        "INSERT INTO part VALUES (?,?,?,?,?,?)",
                        (
                            *(part["id"], entry["info"]["id"], info["id"], when, when),
                            json.dumps(data),
                        ),
                    )
        connection.commit()
    return path


CHILD = {
    "info": {"id": "ses_2", "directory": "/w", "version": "1.2.10"},
    "messages": [
        message(
            "msg_9",
            3,
            tool("prt_9", "read", READ.replace("a.py", "c.py"), 3.5, call_id="inner"),
            step("prt_91"),
        )
    ],
}

REQUEST = {
    "type": "toolRequest",
    "id": "c1",
    "toolCall": {
        "status": "success",
        "value": {"name": "developer__shell", "arguments": {"command": "cat src/a.py"}},
    },
}
RESPONSE = {
    "type": "toolResponse",
    "id": "c1",
    "toolResult": {
        "status": "success",
        "value": {"content": [{"type": "text", "text": "import os\n"}], "isError": False},
    },
}
GOOSE_EXPORT = {
    "id": "20260105_1",
    "working_dir": "/w",
    "name": "t",
    "session_type": "user",
    "created_at": "2026-01-05T10:00:00Z",
    "accumulated_total_tokens": 321,
    "accumulated_cost": 0.25,
    "total_tokens": 12,
    "model_config": {"model_name": "a-model", "context_limit": 9},
    "message_count": 3,
    "conversation": [
        {"id": "m1", "role": "user", "created": 1_700_000_000, "content": [{"type": "text"}]},
        {"id": "m2", "role": "assistant", "created": 1_700_000_001, "content": [REQUEST]},
        {"id": "m3", "role": "user", "created": 1_700_000_002, "content": [RESPONSE]},
    ],
}
GOOSE = """
CREATE TABLE schema_version (version INTEGER PRIMARY KEY);
CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, session_type TEXT,
  working_dir TEXT NOT NULL, created_at TIMESTAMP, total_tokens INTEGER,
  accumulated_total_tokens INTEGER, accumulated_cost REAL, provider_name TEXT,
  model_config_json TEXT);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT,
  session_id TEXT NOT NULL REFERENCES sessions(id), role TEXT NOT NULL,
  content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL,
  timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT);
"""


def goose(path, *sessions):
    database(path, GOOSE)
    with closing(sqlite3.connect(path)) as connection:
        for found in sessions:
            connection.execute(
                "INSERT INTO sessions VALUES (?,?,'',?,?,?,?,?,?,'anthropic',?)",
                (
                    *(found["id"], found["name"], found["session_type"], found["working_dir"]),
                    *("2026-01-05 10:00:00", found["total_tokens"]),
                    *(found["accumulated_total_tokens"], found["accumulated_cost"]),
                    json.dumps(found["model_config"]),
                ),
            )
            for entry in found["conversation"]:
                connection.execute(
                    "INSERT INTO messages (message_id, session_id, role, content_json, "
                    "created_timestamp) VALUES (?,?,?,?,?)",
                    (
                        *(entry["id"], found["id"], entry["role"]),
                        *(json.dumps(entry["content"]), entry["created"]),
                    ),
                )
        connection.commit()
    return path


def exported(folder, document):
    path = folder / "export.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def without_places(trace):
    """A trace without the name of its format, and its calls without their places in the file."""
    calls = tuple(replace(call, where="") for call in trace.calls)
    return replace(trace, format="", calls=calls)


def targets(trace):
    return [list(found.raw_targets()) for found in read_calls(trace)]


@pytest.mark.parametrize(
    ("make", "document"),
    [
        (lambda p: opencode(p, (EXPORT, None)), EXPORT),
        (lambda p: goose(p, GOOSE_EXPORT), GOOSE_EXPORT),
    ],
    ids=["opencode", "goose"],
)
def test_a_database_gives_what_the_exported_session_gives(tmp_path, make, document):
    stored, written = read_trace(make(tmp_path / "a.db")), read_trace(exported(tmp_path, document))
    assert (stored.format[:5], stored.format[-6:]) == (written.format[:5], "-store")
    assert without_places(stored) == without_places(written)
    assert targets(stored) == targets(written) != []
    assert stored.model == "a-model"
    assert stored.calls[0].timestamp is not None


def test_the_sessions_of_sub_agents_belong_to_the_session_that_started_them(tmp_path):
    task = tool("prt_55", "task", "done", 3.2, metadata={"sessionId": "ses_2"})
    first = EXPORT["messages"][1]
    second = {**first, "parts": [*first["parts"][:-1], task, first["parts"][-1]]}
    parent = {**EXPORT, "messages": [EXPORT["messages"][0], second, EXPORT["messages"][2]]}
    trace = read_trace(opencode(tmp_path / "a.db", (parent, None), (CHILD, "ses_1")))
    assert [(c.name, c.is_subagent, c.parent_id) for c in trace.calls] == [
        ("read", False, None),
        ("bash", False, None),
        ("task", False, None),
        ("read", True, "call_prt_55"),
        ("edit", False, None),
        ("bash", False, None),
    ]
    assert trace.declared_cost_usd == pytest.approx(0.03)
    assert "subagent_calls_missing" not in trace.flags
    assert "subagent_calls_missing" in read_trace(exported(tmp_path, parent)).flags


def test_sub_agents_of_goose_belong_to_the_only_session(tmp_path):
    child = {**GOOSE_EXPORT, "id": "20260105_2", "session_type": "sub_agent"}
    trace = read_trace(goose(tmp_path / "a.db", GOOSE_EXPORT, child))
    assert {call.parent_id for call in trace.calls} <= {None, "20260105_2"}
    assert trace.declared_tokens == 642


def test_several_sessions_are_named(tmp_path):
    other = json.loads(json.dumps(EXPORT).replace("ses_1", "ses_3").replace("prt_", "prx_"))
    other = json.loads(json.dumps(other).replace("msg_", "msx_"))
    empty = {"info": {**EXPORT["info"], "id": "ses_0"}, "messages": []}
    path = opencode(tmp_path / "opencode.db", (EXPORT, None), (other, None), (empty, None))
    with pytest.raises(SeveralTracesError) as caught:
        read_trace(path)
    assert caught.value.names == ("ses_1", "ses_3")
    assert len(read_trace(path, sample="ses_3").calls) == 4
    result = CliRunner().invoke(command, [str(path), "--sample", "ses_1", "--truth", "src/a.py"])
    assert (result.exit_code, "certain   src/a.py" in result.output) == (0, True)


def test_a_database_of_a_trial_is_found(tmp_path):
    for place in ("agent/opencode.db", "agent/opencode/opencode.db"):
        path = tmp_path / place.replace("/", "-") / place
        path.parent.mkdir(parents=True)
        opencode(path, (EXPORT, None))
        assert len(read_trace(tmp_path / place.replace("/", "-")).calls) == 4
    path = tmp_path / "goose/agent/sessions/sessions.db"
    path.parent.mkdir(parents=True)
    goose(path, GOOSE_EXPORT)
    assert read_trace(tmp_path / "goose").format == "goose-store"


def test_messages_that_are_kept_whole_are_read(tmp_path):
    path = opencode(tmp_path / "a.db", ({**EXPORT, "messages": []}, None))
    call = {
        "type": "tool",
        "id": "call_1",
        "name": "read",
        "state": {
            "status": "completed",
            "input": {"filePath": "/w/src/a.py"},
            "content": [{"type": "text", "text": READ}],
            "structured": {},
        },
        "time": {"created": AT + 500, "ran": AT + 1000},
    }
    failed = {"status": "error", "input": {}, "content": [], "error": {"message": "aborted"}}
    data = {
        "time": {"created": AT, "completed": AT + 2000},
        "model": {"id": "a-model", "providerID": "p"},
        "content": [
            {"type": "text", "text": "I look."},
            call,
            {**call, "id": "c2", "state": failed},
        ],
        "cost": 0.02,
        "tokens": {"input": 9, "output": 1, "reasoning": 0, "cache": {"read": 4, "write": 0}},
    }
    with closing(sqlite3.connect(path)) as connection:
        for number, (kind, body) in enumerate((("user", {}), ("assistant", data))):
            connection.execute(
                "INSERT INTO session_message VALUES (?,?,?,?,?,?)",
                (f"m{number}", "ses_1", kind, AT + number, AT, json.dumps(body)),
            )
        connection.commit()
    trace = read_trace(path)
    first, second = trace.calls
    assert (first.name, first.timestamp, first.result.text) == ("read", AT / 1000 + 1, READ)
    assert (second.result.text, second.result.is_unfinished) == ("aborted", True)
    assert (trace.model, trace.declared_cost_usd, trace.counted_tokens) == ("a-model", 0.02, 14)


def test_a_row_that_cannot_be_used_is_named(tmp_path):
    path = opencode(tmp_path / "a.db", (EXPORT, None))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE part SET data = '{\"type\": ' WHERE id = 'prt_3'")
        connection.execute("UPDATE message SET id = 'gone' WHERE id = 'msg_3'")
        connection.commit()
    trace = read_trace(path)
    assert [call.name for call in trace.calls] == ["bash"]
    assert "malformed_step" in trace.flags
    assert any("a.db: the part prt_3: not valid JSON" in problem for problem in trace.problems)
    assert any("the message msg_3: missing" in problem for problem in trace.problems)


def test_steps_in_a_log_that_cannot_be_read_are_missing_at_the_end(tmp_path):
    folder = tmp_path / "trial"
    folder.mkdir()
    path = opencode(folder / "a.db", (EXPORT, None))
    (tmp_path / "log").write_bytes(b"x" * 100)
    (folder / "a.db-wal").symlink_to(tmp_path / "log")
    trace = read_trace(path)
    assert len(trace.calls) == 4
    assert "newest_steps_unread" in trace.flags
    result = CliRunner().invoke(command, [str(path), "--truth", "src/z.py"])
    assert "possible  src/z.py" in result.output


def test_another_database_is_named_with_its_tables(tmp_path):
    path = database(tmp_path / "a.db", "CREATE TABLE account (id); CREATE TABLE page (id);")
    with pytest.raises(NoTraceError, match="an SQLite database with the tables account, page"):
        read_trace(path)


N_DAMAGES = 200 if PROFILE == "default" else 5000


@pytest.mark.parametrize(
    "make",
    [lambda p: opencode(p, (EXPORT, None), (CHILD, "ses_1")), lambda p: goose(p, GOOSE_EXPORT)],
    ids=["opencode", "goose"],
)
def test_damage_anywhere_neither_raises_nor_hangs(tmp_path, make):
    whole = make(tmp_path / "whole.db").read_bytes()
    dice, path, began = random.Random(20), tmp_path / "damaged.db", time.monotonic()
    for _ in range(N_DAMAGES):
        damaged = bytearray(whole)
        for _ in range(dice.choice((1, 1, 4, 40))):
            damaged[dice.randrange(100 if dice.random() < 0.2 else len(whole))] = dice.randrange(
                256
            )
        cut = dice.randrange(len(whole)) if dice.random() < 0.1 else len(whole)
        path.write_bytes(damaged[:cut])
        with suppress(NoTraceError):
            read_trace(path)
    assert time.monotonic() - began < 120
