from __future__ import annotations

import json

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.claims import Draft, read_drafts


def written(path, *rows):
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_drafts_are_read_with_their_lines(tmp_path):
    path = written(
        tmp_path / "drafts.jsonl",
        {"id": "q1", "draft": "It is.", "context": ["d1", "a text"], "model": "x"},
        "",
        {"id": "q2", "refused": True},
    )
    assert read_drafts(path) == (
        Draft("q1", "It is.", ("d1", "a text"), False, 1),
        Draft("q2", "", None, True, 3),
    )


def test_every_fault_is_named_by_line(tmp_path):
    rows = [
        ("[]", "line 1: expected an object, found a list"),
        ("{", "line 2: not valid JSON"),
        ({"draft": "x"}, "line 3: /id: expected the id of a query, found null"),
        ({"id": "a"}, "line 4: /draft: expected text, found null"),
        ({"id": "a", "draft": " "}, 'line 5: /draft: is empty; say "refused": true'),
        ({"id": "a", "draft": 7}, "line 6: /draft: expected text, found the number 7"),
        ({"id": "a", "draft": "x", "context": "d"}, "line 7: /context: expected a list"),
        ({"id": "a", "draft": "x", "context": [1]}, "line 8: /context/0: expected a document id"),
        ({"id": "a", "draft": "x", "refused": 1}, "line 9: /refused: expected true or false"),
        ({"id": "b", "draft": "x"}, None),
        ({"id": "b", "draft": "y"}, "line 11: /id: the query 'b' has a draft on line 10"),
        ('{"id": "c", "draft": "\\ud800"}', "line 12: holds half of a character"),
    ]
    path = written(tmp_path / "drafts.jsonl", *(row for row, _ in rows))
    with pytest.raises(BadInputError) as raised:
        read_drafts(path)
    lines = str(raised.value).splitlines()
    expected = [message for _, message in rows if message]
    assert len(lines) == len(expected)
    for line, message in zip(lines, expected, strict=True):
        assert line.startswith(f"{path}: {message}")


@pytest.mark.parametrize("content", [None, "", "\n\n"])
def test_no_file_and_no_draft_are_bad_input(tmp_path, content):
    path = tmp_path / "drafts.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(BadInputError, match=r"holds no draft|cannot be read"):
        read_drafts(path)
