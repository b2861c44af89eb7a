"""Runs a react agent of Inspect AI: ``inspect.py PROMPT LOGS``."""

import sys

import tiktoken


class Counter:
    """Counts tokens without the file that the real one loads from the network."""

    def encode(self, text: str, **_: object) -> list[int]:
        return [0] * (len(text) // 4 + 1)

    encode_ordinary = encode


tiktoken.get_encoding = tiktoken.encoding_for_model = lambda *_, **__: Counter()

from inspect_ai import Task  # noqa: E402
from inspect_ai import eval as evaluate  # noqa: E402
from inspect_ai.agent import as_tool, react  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.scorer import includes  # noqa: E402
from inspect_ai.tool import bash, mcp_server_stdio, mcp_tools, text_editor  # noqa: E402
from inspect_ai.tool._tools._grep import grep  # noqa: E402
from inspect_ai.tool._tools._list_files import list_files  # noqa: E402
from inspect_ai.tool._tools._read_file import read_file  # noqa: E402

prompt, logs = sys.argv[1:]
server = mcp_server_stdio(name="files", command="python3", args=["/mnt/mcp_server.py", "/mnt/shop"])
helper = react(name="helper", description="Reads files.", tools=[bash(timeout=10), read_file()])
tools = [bash(timeout=10), text_editor(), read_file(), grep(), list_files(), as_tool(helper)]
sample = Sample(id="lab", input=prompt, target="done", setup="cp -r /mnt/shop/. .", sandbox="local")
evaluate(
    Task(
        dataset=[sample],
        solver=react(tools=[*tools, mcp_tools(server)]),
        scorer=includes(),
        message_limit=400,
    ),
    model="openai/gpt-4o",
    model_args={"responses_api": False},
    log_dir=logs,
    display="plain",
)
