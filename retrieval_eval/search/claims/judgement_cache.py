"""Judgements kept by content, so that a run that is repeated asks nothing twice."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.files import append_line, decode, is_there, json_bytes
from retrieval_eval.io.named import named_bytes
from retrieval_eval.search.claims.judge import Judge, JudgeFacts, Judgement


class CachedJudge:
    """A judge that remembers, in a JSONL file, what another one said.

    The key is the SHA-256 over the judge's facts, claim and block, so another model, instruction
    or text is asked anew. A line that is cut or damaged is asked again. Failures are not kept.
    Claims and blocks themselves are not in the file, the judge's reasons are.

    Raises
    ------
    BadInputError
        When the file is there and cannot be read, or cannot be written.
    """

    def __init__(self, judge: Judge, path: Path) -> None:
        self._judge = judge
        self._path = path
        self._lock = Lock()
        self._known = _read(path)

    @property
    def facts(self) -> JudgeFacts:
        """Those of the judge that is asked."""
        return self._judge.facts

    @property
    def concurrency(self) -> int:
        """That of the judge that is asked."""
        return self._judge.concurrency

    def judge(self, claim: str, block_text: str) -> Judgement:
        """Return what is known, or else ask and remember."""
        key = _key(self.facts, claim, block_text)
        known = self._known.get(key)
        if known is not None and _fits(known, block_text):
            return known
        judgement = self._judge.judge(claim, block_text)
        row = {
            "key": key,
            "supported": judgement.supported,
            "span": judgement.span,
            "reason": judgement.reason,
        }
        with self._lock:
            self._known[key] = judgement
            _append(self._path, json_bytes(row))
        return judgement


def _append(path: Path, line: bytes) -> None:
    try:
        append_line(path, line)
    except OSError as error:
        raise BadInputError(
            f"{path}: the judgements cannot be kept ({error.strerror or error})"
        ) from error


def _key(facts: JudgeFacts, claim: str, block_text: str) -> str:
    content = json.dumps([facts.identity(), claim, block_text], sort_keys=True)
    return sha256(content.encode()).hexdigest()


def _fits(judgement: Judgement, block_text: str) -> bool:
    span = judgement.span
    return span is None or 0 <= span[0] < span[1] <= len(block_text)


def _read(path: Path) -> dict[str, Judgement]:
    if not is_there(path):
        return {}
    data = named_bytes(path)
    if data and not data.endswith(b"\n"):
        # A write was cut; what is appended next must not continue its line.
        _append(path, b"\n")
    found = {}
    for line in data.split(b"\n"):
        row, _ = decode(line.decode("utf-8", "replace"))
        if isinstance(row, dict) and isinstance(row.get("key"), str):
            judgement = _judgement(row)
            if judgement is not None:
                found[row["key"]] = judgement
    return found


def _judgement(row: dict[str, Any]) -> Judgement | None:
    supported, span, reason = row.get("supported"), row.get("span"), row.get("reason")
    if not isinstance(supported, bool) or not isinstance(reason, str):
        return None
    if span is None:
        return Judgement(supported, None, reason)
    is_pair = isinstance(span, list) and [type(end) for end in span] == [int, int]
    return Judgement(supported, (span[0], span[1]), reason) if is_pair else None
