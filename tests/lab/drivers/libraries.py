"""Libraries of agents without a command line: each is run by a program of the lab.

openai-agents, smolagents and deepagents write nothing by themselves; OpenInference makes spans.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.lab.drivers import HOME, ROOT, URL, Call, Driver, Start, program
from tests.lab.situations import Do, Situation

_OUT = f"{ROOT}/out/spans.jsonl"
_OTEL = ("opentelemetry-sdk",)
_WITHOUT = {
    "saved-result": "the whole output of a command is saved nowhere",
    "time-limit": "the tool has no time limit",
    "in-background": "a command runs to its end",
    "refused": "it has no permissions",
    "resumed": "nothing is kept that could be resumed",
    "compacted": "it keeps the whole history",
}


def _start(name: str, *arguments: str) -> Callable[[str, Situation, bool], Start]:
    def start(prompt: str, situation: Situation, is_resumed: bool) -> Start:
        said = [prompt if part == "PROMPT" else part for part in arguments]
        environment = {
            "OPENAI_API_KEY": "scripted",
            "OPENAI_BASE_URL": f"{URL}/v1",
            "LANGSMITH_TRACING": "false",
            "INSPECT_TELEMETRY": "",
        }
        path = f"{HOME}/{name}_run.py"
        return Start(
            ("/srv/bin/python", path, *said), environment, {f"{name}_run.py": program(name)}
        )

    return start


def _say(shell: str, **tools: Callable[[Do], Call | None]) -> Callable[[Do], Call | None]:
    def say(do: Do) -> Call | None:
        if do.kind == "shell":
            return Call(shell, {"command": do.text})
        return tools[do.kind](do) if do.kind in tools else None

    return say


def _window(do: Do, name: str, path: str) -> Call:
    first, last = do.lines or (0, 0)
    part = {"offset": first - 1, "limit": last - first + 1} if first else {}
    return Call(name, {"file_path": path, **part})


def _mcp(do: Do) -> Call:
    return Call(do.text, {"query" if do.text == "find_hits" else "path": do.path})


def _read(do: Do) -> Call | None:
    return Call("read_file", {"path": do.path}) if do.lines is None else None


def _driver(name: str, packages: tuple[str, ...], start: object, say: object, **more: object):
    traces = {"openinference": "out/spans.jsonl"}
    given = {"traces": traces, "without": _WITHOUT, "keeps_ids": False, "model": "gpt-4o", **more}
    return Driver(name, "pip", packages, start=start, say=say, **given)  # type: ignore[arg-type]


_OPENAI_AGENTS = _driver(
    "openai-agents",
    ("openai-agents", "openinference-instrumentation-openai-agents", *_OTEL),
    _start("openai_agents", "PROMPT", f"{ROOT}/out"),
    _say(
        "run_shell",
        read=_read,
        mcp=_mcp,
        delegate=lambda do: Call("helper", {"input": do.text}),
    ),
    traces={
        "openinference": "out/spans.jsonl",
        "openai-agents-trace": "out/trace.jsonl",
    },
)
DRIVERS = (
    _OPENAI_AGENTS,
    replace(
        _OPENAI_AGENTS,
        name="openllmetry",
        packages=("opentelemetry-instrumentation-openai-agents", "openai-agents", *_OTEL),
        start=_start("openai_agents", "PROMPT", f"{ROOT}/out", "otel"),
        traces={"opentelemetry-genai": "out/spans.jsonl"},
        keeps_ids=True,
    ),
    _driver(
        "smolagents",
        ("smolagents", "openai", "openinference-instrumentation-smolagents", *_OTEL),
        _start("smolagents", f"{URL}/v1", "PROMPT", _OUT),
        _say("run_shell", read=_read, delegate=lambda do: Call("helper", {"task": do.text})),
        last=Call("final_answer", {"answer": "Done."}),
        keeps_ids=True,
    ),
    _driver(
        "deepagents",
        ("deepagents", "langchain-openai", "openinference-instrumentation-langchain", *_OTEL),
        _start("deepagents", f"{URL}/v1", "PROMPT", f"{ROOT}/out"),
        _say(
            "execute",
            read=lambda do: _window(do, "read_file", f"/{do.path}"),
            list=lambda do: Call("ls", {"path": f"/{do.path}"}),
            find=lambda do: Call("glob", {"pattern": f"**/{do.text}"}),
            search=lambda do: Call("grep", {"pattern": do.text, "output_mode": "content"}),
            write=lambda do: Call("write_file", {"file_path": f"/{do.path}", "content": do.text}),
            edit=lambda do: Call(
                "edit_file",
                {"file_path": f"/{do.path}", "old_string": do.old, "new_string": do.text},
            ),
            delegate=lambda do: Call(
                "task", {"description": do.text, "subagent_type": "general-purpose"}
            ),
        ),
        traces={
            "openinference": "out/spans.jsonl",
            "langchain-messages": "out/messages.jsonl",
            "langchain-messages dumped": "out/state.json",
            "langchain-messages values": "out/values.json",
        },
        keeps_ids=True,
    ),
    _driver(
        "google-genai",
        ("google-genai",),
        _start("google_genai", URL, "PROMPT", f"{ROOT}/out"),
        _say("run_shell", read=_read),
        model="gemini-2.5-flash",
        traces={
            "gemini-contents": "out/contents.jsonl",
            "gemini-contents requests": "out/requests.jsonl",
        },
        keeps_ids=True,
    ),
    _driver(
        "langfuse",
        ("langfuse", "openai", "langchain", "langchain-openai"),
        _start("langfuse", f"{URL}/v1", "PROMPT", f"{ROOT}/out"),
        _say("run_shell", read=_read),
        traces={"langfuse-observations": "out/trace.json"},
        keeps_ids=True,
    ),
    _driver(
        "inspect",
        ("inspect-ai", "openai", "mcp", "tiktoken"),
        _start("inspect", "PROMPT", f"{ROOT}/out"),
        _say(
            "bash",
            read=lambda do: _window(do, "read_file", do.path),
            list=lambda do: Call("list_files", {"path": do.path}),
            search=lambda do: Call("grep", {"pattern": do.text, "path": do.path or "."}),
            edit=lambda do: Call(
                "text_editor",
                {"command": "str_replace", "path": do.path, "old_str": do.old, "new_str": do.text},
            ),
            mcp=_mcp,
            delegate=lambda do: Call("helper", {"input": do.text}),
        ),
        model="openai/gpt-4o",
        traces={"inspect": "out/*.eval"},
        last=Call("submit", {"answer": "done"}),
        without={
            **{name: why for name, why in _WITHOUT.items() if name != "time-limit"},
            "killed": "the log holds a sample only when it has ended",
        },
        keeps_ids=True,
    ),
)
