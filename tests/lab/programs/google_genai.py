"""Runs an agent on google-genai: ``google_genai.py URL PROMPT OUT [chat]``.

It writes the contents as Python's library dumps them, and requests with their responses as the
interface has them. With ``chat`` the library itself calls the functions.
"""

import json
import subprocess
import sys
from pathlib import Path

from google import genai
from google.genai import types

url, prompt, folder, *more = sys.argv[1:]


def read_file(path: str) -> str:
    """Read a file."""
    return Path(path).read_text()


def run_shell(command: str) -> str:
    """Run a shell command."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    return f"{done.stdout}{done.stderr}"


client = genai.Client(api_key="scripted", http_options={"base_url": url})
model = "gemini-2.5-flash"
functions = {"read_file": read_file, "run_shell": run_shell}
if more:
    calling = types.AutomaticFunctionCallingConfig(maximum_remote_calls=100)
    config = types.GenerateContentConfig(
        tools=[*functions.values()], automatic_function_calling=calling
    )
    chat = client.chats.create(model=model, config=config)
    chat.send_message(prompt)
    history = [content.model_dump(mode="json") for content in chat.get_history()]
    (Path(folder) / "history.json").write_text(json.dumps(history))
    sys.exit()
calling = types.AutomaticFunctionCallingConfig(disable=True)
config = types.GenerateContentConfig(
    tools=[*functions.values()], automatic_function_calling=calling
)
contents = [types.Content(role="user", parts=[types.Part(text=prompt)])]
log = (Path(folder) / "requests.jsonl").open("w")
while True:
    response = client.models.generate_content(model=model, contents=contents, config=config)
    asked = [content.to_json_dict() for content in contents]
    answered = response.model_dump(mode="json", by_alias=True, exclude_none=True)
    answered.pop("sdkHttpResponse", None)
    log.write(json.dumps({"request": {"contents": asked}, "response": answered}) + "\n")
    log.flush()
    contents.append(response.candidates[0].content)
    answers = []
    for call in response.function_calls or []:
        try:
            result = {"result": functions[call.name](**call.args)}
        except Exception as error:  # noqa: BLE001  what a function raises is its answer
            result = {"error": f"{type(error).__name__}: {error}"}
        answer = types.FunctionResponse(id=call.id, name=call.name, response=result)
        answers.append(types.Part(function_response=answer))
    if answers:
        contents.append(types.Content(role="user", parts=answers))
    dumped = "".join(json.dumps(content.model_dump(mode="json")) + "\n" for content in contents)
    (Path(folder) / "contents.jsonl").write_text(dumped)
    if not answers:
        break
