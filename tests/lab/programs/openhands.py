"""Runs OpenHands' SDK in the workspace: ``openhands.py MODEL-URL PROMPT``."""

import sys
import uuid

from openhands.sdk import LLM, Agent, Conversation, Tool
from openhands.tools.file_editor import FileEditorTool
from openhands.tools.glob import GlobTool
from openhands.tools.grep import GrepTool
from openhands.tools.preset.default import register_builtins_agents
from openhands.tools.task import TaskToolSet
from openhands.tools.terminal import TerminalTool
from pydantic import SecretStr

url, prompt = sys.argv[1:]
register_builtins_agents()
model = LLM(
    model="openai/gpt-4o",
    api_key=SecretStr("scripted"),
    base_url=url,
    usage_id="agent",
    num_retries=0,
    input_cost_per_token=0.000001,
    output_cost_per_token=0.00001,
    log_completions=True,
    log_completions_folder="/mnt/out/completions",
)
tools = [TerminalTool, FileEditorTool, GlobTool, GrepTool, TaskToolSet]
server = {"command": "python3", "args": ["/mnt/mcp_server.py", "/mnt/shop"]}
agent = Agent(
    llm=model, tools=[Tool(name=tool.name) for tool in tools], mcp_config={"files": server}
)
talk = Conversation(
    agent=agent,
    workspace="/mnt/shop",
    persistence_dir="/mnt/out",
    conversation_id=uuid.UUID(int=1),
)
talk.send_message(prompt)
talk.run()
talk.close()
