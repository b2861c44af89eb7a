from __future__ import annotations

from pathlib import Path

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.io.user_files import read_user_bytes, read_user_json, read_user_text
from retrieval_eval.search.gold import load_gold_set


def test_a_link_is_followed_wherever_it_leads(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far/real.json").write_text('{"a": "ä"}', encoding="utf-8")
    (tmp_path / "near").mkdir()
    link = tmp_path / "near/link.json"
    link.symlink_to(tmp_path / "far/real.json")
    assert read_user_json(link) == {"a": "ä"}
    assert read_user_text(link) == '{"a": "ä"}'
    assert read_user_bytes(link) == '{"a": "ä"}'.encode()


@pytest.mark.parametrize("read", [read_user_bytes, read_user_text, read_user_json])
def test_a_message_says_the_name_that_was_given(tmp_path, read):
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(BadInputError) as caught:
        read(tmp_path / "link")
    assert str(caught.value).startswith(f"{tmp_path / 'link'}: ")
    assert "real" not in str(caught.value)


@pytest.mark.parametrize("read", [read_user_bytes, read_user_text, read_user_json, load_gold_set])
def test_a_name_that_no_file_can_have_is_refused(read):
    with pytest.raises(BadInputError, match="no name of a file"):
        read(Path("{\0}"))


def test_what_is_no_text_and_no_json_is_refused(tmp_path):
    (tmp_path / "a").write_bytes(b"\xff")
    assert read_user_bytes(tmp_path / "a") == b"\xff"
    for read in (read_user_text, read_user_json):
        with pytest.raises(BadInputError, match="a: "):
            read(tmp_path / "a")
    (tmp_path / "b").write_text("{")
    with pytest.raises(BadInputError, match="not valid JSON"):
        read_user_json(tmp_path / "b")
