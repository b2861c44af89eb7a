"""A URL is taken for runs, benchmarks and outputs of runs; no other path takes one for a folder."""

from __future__ import annotations

import click
import pytest

from retrieval_eval.cli import group, run
from retrieval_eval.cli.common import FOLDER_OR_URL, PLACE_OR_URL
from retrieval_eval.errors import BadInputError
from tests.runs import write_trial

URL = "s3://key:secret@bucket/x"


def paths(command=group):
    """Yield every parameter of a command, and of those in it, that is a path."""
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from paths(command.get_command(click.Context(command), name))
        return
    for one in command.params:
        if isinstance(one.type, click.Path):
            yield command, one


def test_a_path_is_local_or_stays_a_url():
    found = list(paths())
    assert len(found) > 50
    for command, one in found:
        context = click.Context(command)
        if one.type in (FOLDER_OR_URL, PLACE_OR_URL):
            assert one.type.convert(URL, one, context) == URL
            assert one.name in ("benchmarks_root", "output_dir")
            continue
        with pytest.raises(BadInputError, match="a URL is not taken here") as refused:
            one.type.convert(URL, one, context)
        assert str(refused.value).startswith(f"{one.get_error_hint(context)}: ")
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", URL],
        ["evaluate", "kept", "--output-dir", URL],
        ["evaluate", "kept", "--benchmarks-root", URL],
        ["evaluate", "--from-events", "kept", "--output-dir", URL],
        ["compare", f"{URL}:a", f"{URL}:b"],
        ["report", URL],
        ["trace", URL],
    ],
    ids=" ".join,
)
def test_a_url_with_a_password_is_refused_without_naming_it(words, tmp_path, monkeypatch, capfd):
    write_trial(tmp_path / "kept", "c", "t", [])
    monkeypatch.chdir(tmp_path)
    assert run(words) == 3
    assert "secret" not in "".join(capfd.readouterr())
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
