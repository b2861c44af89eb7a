"""Runs mini-swe-agent inside Inspect AI, by inspect-swe: ``inspect_swe.py PROMPT LOGS``."""

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
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_swe import mini_swe_agent  # noqa: E402

prompt, logs = sys.argv[1:]
sample = Sample(id="lab", input=prompt, sandbox="local")
evaluate(
    Task(dataset=[sample], solver=mini_swe_agent(version="sandbox", cwd="/mnt/shop")),
    model="openai/gpt-4o",
    model_args={"responses_api": False},
    log_dir=logs,
    display="plain",
)
