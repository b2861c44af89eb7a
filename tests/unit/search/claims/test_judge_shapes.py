"""Servers of the documented APIs of model providers, which refuse what those would refuse."""

from __future__ import annotations

import json

import pytest

from retrieval_eval.search.claims.http_judge import (
    INSTRUCTION,
    SHAPES,
    HttpJudge,
    http_judge_settings,
)
from retrieval_eval.search.claims.judge import CachedJudge, JudgeError
from tests.local_server import body, local_server

KEY = "a-secret-of-this-test"
CLAIM, BLOCK = "Copies stay for 30 days", "Copies are kept for 30 days. They are encrypted."
VERDICT = json.dumps({"supported": True, "quote": "kept for 30 days", "reason": "stated"})
DATA = json.dumps({"claim": CLAIM, "document": BLOCK})
BEARER = {"Authorization": f"Bearer {KEY}"}
CHAT = [{"role": "system", "content": INSTRUCTION}, {"role": "user", "content": DATA}]


def _openai(text=VERDICT, ended="stop"):
    message = {"role": "assistant", "content": text}
    return {"object": "chat.completion", "choices": [{"message": message, "finish_reason": ended}]}


def _anthropic(text=VERDICT, ended="end_turn"):
    blocks = [{"type": "thinking", "thinking": "30?"}, {"type": "text", "text": text}]
    return {"type": "message", "role": "assistant", "content": blocks, "stop_reason": ended}


def _gemini(text=VERDICT, ended="STOP"):
    parts = [{"text": "30?", "thought": True}, {"text": text}]
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": ended}]}


def _ollama(text=VERDICT, ended="stop"):
    message = {"role": "assistant", "content": text}
    return {"model": "m-1", "message": message, "done": True, "done_reason": ended}


# For each: options, path, headers, body; an answer, that cut, and one that refuses.
APIS = {
    "openai": (
        {},
        "/base/chat/completions",
        BEARER,
        {
            "model": "m-1",
            "messages": CHAT,
            "temperature": 0,
            "response_format": {"type": "json_object"},
        },
        (_openai, "length", _openai(ended="content_filter")),
    ),
    "azure": (
        {"query": "?api-version=2024-10-21", "header_env.api-key": "JUDGE_KEY"},
        "/base/chat/completions?api-version=2024-10-21",
        {"api-key": KEY},
        {
            "model": "m-1",
            "messages": CHAT,
            "temperature": 0,
            "response_format": {"type": "json_object"},
        },
        (_openai, "length", {"choices": [{"message": {"content": None, "refusal": "No."}}]}),
    ),
    "anthropic": (
        {"body.max_tokens": "300"},
        "/base/messages",
        {"x-api-key": KEY, "anthropic-version": "2023-06-01"},
        {
            "model": "m-1",
            "max_tokens": 300,
            "system": INSTRUCTION,
            "messages": [{"role": "user", "content": [{"type": "text", "text": DATA}]}],
            "temperature": 0,
        },
        (_anthropic, "max_tokens", _anthropic(text="", ended="refusal")),
    ),
    "gemini": (
        {"body.generationConfig.maxOutputTokens": "300", "temperature": "0.5"},
        "/base/models/m-1:generateContent",
        {"x-goog-api-key": KEY},
        {
            "systemInstruction": {"parts": [{"text": INSTRUCTION}]},
            "contents": [{"role": "user", "parts": [{"text": DATA}]}],
            "generationConfig": {
                "temperature": 0.5,
                "responseMimeType": "application/json",
                "maxOutputTokens": 300,
            },
        },
        (_gemini, "MAX_TOKENS", {"promptFeedback": {"blockReason": "SAFETY"}}),
    ),
    "ollama": (
        {"temperature": "none", "response_format": "none", "body.options.num_ctx": "8192"},
        "/base/api/chat",
        BEARER,
        {"model": "m-1", "messages": CHAT, "stream": False, "options": {"num_ctx": 8192}},
        (_ollama, "length", {"error": "model 'm-1' not found"}),
    ),
}


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("JUDGE_KEY", KEY)
    for shape in SHAPES.values():
        monkeypatch.delenv(shape.key_variable or "UNUSED", raising=False)


def _as(value):
    return body(json.dumps(value).encode(), Content_Type="application/json")


def _judge(url, api, **options):
    given = dict(APIS[api][0])
    query = given.pop("query", "")
    if "header_env.api-key" not in given:
        given["api_key_env"] = "JUDGE_KEY"
    shape = "openai" if api == "azure" else api
    base = {"shape": shape, "base_url": f"{url}{query}", "model": "m-1", "backoff": "0"}
    return HttpJudge(http_judge_settings({**base, **given, **options}))


@pytest.mark.parametrize("api", APIS)
def test_each_api_is_asked_and_read_as_it_is_documented(api):
    _, path, headers, sent, (answer, cut, refusal) = APIS[api]
    answers = (answer(), *[answer(ended=cut)] * 3, refusal)
    with local_server(*map(_as, answers), path="/base") as server:
        judge = _judge(server.url, api)
        found = judge.judge(CLAIM, BLOCK)
        request = server.requests[0]
        assert (request.path, request.body) == (path, sent)
        assert headers.items() <= request.headers.items()
        known = {name: value for name, value in request.headers.items() if KEY in value}
        assert known == {name: value for name, value in headers.items() if KEY in value}
        assert (found.supported, BLOCK[slice(*found.span)]) == (True, "kept for 30 days")
        assert judge.judge(CLAIM, BLOCK).is_unproved
        with pytest.raises(JudgeError, match="the run fails"):
            judge.judge(CLAIM, BLOCK)
        judge.close()
    shown = str(judge.facts.settings)
    assert KEY not in shown
    assert ("2024-10-21" in shown) is (api == "azure")


REFUSES = {
    "temperature": {
        "message": "Unsupported value: 'temperature' does not support 0 with this model.",
        "param": "temperature",
        "code": "unsupported_value",
    },
    "response_format": {"message": "'response_format' is not supported with this model."},
}


def _picky(handler):
    """An endpoint that refuses one setting after the other, the first by name first."""
    sent = handler.sent
    for name, error in REFUSES.items():
        if name in sent:
            body(json.dumps({"error": error}).encode(), 400)(handler)
            return
    _as(_openai())(handler)


def test_what_a_model_refuses_by_name_is_left_out_recorded_and_not_offered_again(tmp_path):
    with local_server(_picky, path="/base") as server:
        judge = CachedJudge(_judge(server.url, "openai"), tmp_path / "cache.jsonl")
        assert judge.facts.settings["temperature"] == 0
        first = judge.judge(CLAIM, BLOCK)
        assert first.supported
        assert len(server.requests) == 3
        judge.judge(f"{CLAIM}.", BLOCK)
        assert len(server.requests) == 4
        known = judge.facts
        assert (known.settings["temperature"], known.settings["response_format"]) == (None, None)
        again = CachedJudge(_judge(server.url, "openai"), tmp_path / "cache.jsonl")
        assert again.facts == known
        assert again.judge(CLAIM, BLOCK) == first
        assert len(server.requests) == 4


def test_another_400_is_no_reason_to_leave_anything_out():
    with local_server(body(b'{"error": "no such model"}', 400), path="/base") as server:
        with pytest.raises(JudgeError, match=r"answered 400 .*no such model"):
            _judge(server.url, "openai").judge(CLAIM, BLOCK)
        assert len(server.requests) == 1


def test_a_setting_that_was_taken_is_not_left_out_in_the_middle_of_a_run():
    late = body(json.dumps({"error": REFUSES["temperature"]}).encode(), 400)
    with local_server(_as(_openai()), late, path="/base") as server:
        judge = _judge(server.url, "openai")
        judge.judge(CLAIM, BLOCK)
        with pytest.raises(JudgeError, match=r"answered 400 .*temperature"):
            judge.judge(CLAIM, BLOCK)


def test_address_model_and_header_may_stand_in_the_environment(monkeypatch):
    with local_server(_as(_openai()), path="/base") as server:
        monkeypatch.setenv("RETRIEVAL_EVAL_JUDGE_URL", server.url)
        monkeypatch.setenv("RETRIEVAL_EVAL_JUDGE_MODEL", "m-2")
        monkeypatch.setenv("RETRIEVAL_EVAL_JUDGE_HEADER", "api-key")
        monkeypatch.setenv("RETRIEVAL_EVAL_JUDGE_KEY", KEY)
        assert HttpJudge(http_judge_settings({})).judge(CLAIM, BLOCK).supported
        (request,) = server.requests
    assert (request.headers["api-key"], request.body["model"]) == (KEY, "m-2")
    assert "Authorization" not in request.headers
