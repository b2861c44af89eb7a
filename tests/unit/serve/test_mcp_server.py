from __future__ import annotations

import json

import anyio
import pytest

from retrieval_eval.serve.dashboard import Sources, dashboard
from retrieval_eval.serve.mcp_server import create_server
from tests.unit.serve.documents import BACKLOG, answered, search_run, write


@pytest.fixture
def sources(tmp_path):
    write(tmp_path, "1", search_run("first", "2026-01-01T00:00:00Z", p5=0.25))
    write(tmp_path, "2", search_run("second", "2026-01-02T00:00:00Z", with_delta=True))
    return Sources(tmp_path, tmp_path, lambda: BACKLOG)


def call(sources, arguments=None, *, name="get_metrics"):
    """Call the tool as a client does: it checks the answer against the published schema."""
    from mcp import Client

    async def talk():
        with anyio.fail_after(60):
            async with Client(create_server(sources)) as client:
                tools = (await client.list_tools()).tools
                return tools, await client.call_tool(name, arguments)

    return anyio.run(talk)


def test_the_one_tool_is_read_only_and_has_a_schema(sources):
    tools, _ = call(sources)
    assert [tool.name for tool in tools] == ["get_metrics"]
    assert tools[0].annotations.read_only_hint
    assert set(tools[0].input_schema["properties"]) == {"corpus", "label"}
    assert "required" not in tools[0].input_schema
    assert "backlog" in tools[0].output_schema["required"]


@pytest.mark.parametrize("arguments", [None, {}, {"corpus": None, "label": None}])
def test_without_arguments_it_is_the_dashboard(sources, arguments):
    _, result = call(sources, arguments)
    assert not result.is_error
    found = result.structured_content
    assert found == answered(dashboard(sources), sources)
    assert json.loads(result.content[0].text) == found
    block = found["backlog"]
    counted = ("pending_review", "approved", "rejected", "published", "other")
    assert sum(block[name] for name in counted) == block["total"] == 19


def test_a_label_and_a_corpus(sources):
    _, result = call(sources, {"label": "first", "corpus": "cases"})
    assert result.structured_content["latest_run"]["label"] == "first"
    assert result.structured_content["latest_run"]["corpus"] == "cases"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"label": "none"}, "there are: second, first"),
        ({"corpus": "none"}, "there are: cases, notes"),
        ({"label": 3}, "label is a text, not 3"),
        ({"case_number": "x"}, "no argument 'case_number'; there are corpus, label"),
        ({"label": "../../../../etc/passwd"}, "there are: second, first"),
        ({"label": "/etc/passwd\x00"}, "there are: second, first"),
        ({"label": "\x1b[2J\u202e"}, "there are: second, first"),
        ({"label": "x" * 1_000_000}, "there are: second, first"),
        ({"corpus": ["x" * 1_000_000]}, "corpus is a text, not "),
        ({"label": {"a": [1] * 100_000}}, "label is a text, not "),
        ({"x" * 1_000_000: None}, "no argument "),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_wrong_argument_is_a_sentence(sources, arguments, message):
    _, result = call(sources, arguments)
    assert result.is_error
    said = result.content[0].text
    assert message in said
    assert len(said) < 400
    assert "root:" not in said


def test_another_tool_is_a_sentence(sources):
    _, result = call(sources, name="set_metrics")
    assert result.is_error
    assert "there is get_metrics" in result.content[0].text


def test_nothing_measured_and_no_backlog_still_answers(tmp_path):
    _, result = call(Sources(tmp_path, tmp_path, None, "halacha_backlog"))
    assert result.structured_content["latest_run"] is None
    assert result.structured_content["halacha_backlog"] is None
    assert result.structured_content["halacha_backlog_reason"]
