"""A parameter takes a URL for what it is or refuses it; none takes it for a local path."""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
import types

import click
import pytest

import retrieval_eval as rev
from retrieval_eval.cli.common import FOLDER_OR_URL
from retrieval_eval.cli.main import group, run
from retrieval_eval.errors import BadInputError
from retrieval_eval.pipeline.roots import BENCHMARKS_VARIABLE, RUNS_VARIABLE
from retrieval_eval.search.run_names import run_file
from retrieval_eval.serve import server
from tests.runs import write_trial

URL = "s3://key:secret@bucket/x"
_asked: list[str] = []
"""What the file system was asked for, of names that begin as the URL does."""


def heard(event, arguments):
    name = arguments[0] if arguments and event in HEARD else None
    if isinstance(name, str | os.PathLike) and "s3:" in str(name):
        _asked.append(str(name))


HEARD = frozenset({"open", "os.mkdir", "os.listdir", "os.scandir", "os.rename"})
sys.addaudithook(heard)


@pytest.fixture(autouse=True)
def asked(tmp_path, monkeypatch):
    """What is asked for in a folder that holds only ``kept/file``, a gold set."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").write_text('{"query": "late fees", "relevant": {"d1": 1}}\n')
    for name in ("stat", "lstat"):
        own = getattr(os, name)

        def told(path, *arguments, own=own, **options):
            heard("open", (path,))
            return own(path, *arguments, **options)

        monkeypatch.setattr(os, name, told)

    def refuse(host, port):
        raise BadInputError("nothing is served here")

    monkeypatch.setattr(server, "listen", refuse)
    _asked.clear()
    return _asked


def parameters(command=group, words=()):
    """Every parameter that takes text, with the words that name its command."""
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from parameters(command.get_command(click.Context(command), name), (*words, name))
        return
    for one in command.params:
        if isinstance(one.type, click.Path | click.types.StringParamType) and not one.is_eager:
            yield pytest.param(command, words, one, id=f"{' '.join(words)} {one.opts[-1]}")


def line(command, words, chosen, value):
    """Return a command line with this value for one parameter, and something for the needed."""
    given, last = list(words), []
    for one in command.params:
        if one is chosen:
            text = value
        elif not (one.required or isinstance(one, click.Argument)):
            continue
        elif isinstance(one.type, click.Path):
            text = "kept/file" if one.type.file_okay else "kept"
        else:
            text = one.type.choices[0] if isinstance(one.type, click.Choice) else "1"
        texts = [text] * max(one.nargs, 1)
        if isinstance(one, click.Argument):
            last += texts
        else:
            given += [one.opts[-1], *texts]
    return [*given, "--", *last]


TEXTS = list(parameters())
PATHS = [case for case in TEXTS if isinstance(case.values[-1].type, click.Path)]


@pytest.mark.parametrize(("command", "words", "parameter"), TEXTS)
def test_no_parameter_takes_a_url_for_a_local_path(
    command, words, parameter, asked, tmp_path, capfd
):
    code = run(line(command, words, parameter, URL))
    printed = "".join(capfd.readouterr())
    assert asked == []
    assert [path.name for path in tmp_path.iterdir() if "s3" in path.name] == []
    if isinstance(parameter.type, click.Path):
        assert code in (2, 3), printed
        assert "secret" not in printed


@pytest.mark.parametrize(("command", "words", "parameter"), PATHS)
def test_a_path_is_local_or_stays_a_url(command, words, parameter, tmp_path):
    context = click.Context(command)
    place = f"file://{tmp_path}/a b"
    if parameter.type is FOLDER_OR_URL:
        assert parameter.type.convert(URL, parameter, context) == URL
        assert parameter.type.convert(place, parameter, context) == place
        return
    assert parameter.type.convert(place, parameter, context) == tmp_path / "a b"
    with pytest.raises(BadInputError, match="a URL is not taken") as refused:
        parameter.type.convert(URL, parameter, context)
    assert str(refused.value).startswith(f"{parameter.get_error_hint(context)}: ")


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "--from-events", "kept", "--output-dir", URL],
        ["trace", URL],
        ["compare", f"{URL}:a", f"{URL}:b"],
        ["search", "run", "--gold", "kept/file", "--retriever", f"bm25:{URL}"],
    ],
    ids=" ".join,
)
def test_several_options_together_take_no_url_for_a_local_path(words, asked, tmp_path, capfd):
    assert run(words) == 3
    assert "secret" not in "".join(capfd.readouterr())
    assert asked == []
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_label_may_read_like_a_url(tmp_path):
    label = "http://host/search"
    told = {"label": label, "generated_at": "2026-01-05T10:00:00Z"}
    (tmp_path / "eval-report-1.json").write_text(json.dumps(told))
    assert run_file(label, tmp_path)[0].name == "eval-report-1.json"
    assert run_file(f"file://{tmp_path}/kept/file", tmp_path)[0] == tmp_path / "kept/file"
    with pytest.raises(BadInputError, match="is no file of a run") as refused:
        run_file(URL, tmp_path)
    assert "secret" not in str(refused.value)


PUBLIC = [
    pytest.param(function, one, id=f"{name} {one}")
    for name in rev.__all__
    if isinstance(function := getattr(rev, name), types.FunctionType)
    for one in inspect.signature(function).parameters
]


@pytest.mark.parametrize(("function", "chosen"), PUBLIC)
def test_no_public_function_takes_a_url_for_a_local_path(function, chosen, asked, tmp_path):
    given = {}
    for name, one in inspect.signature(function).parameters.items():
        if name == chosen or (one.default is one.empty and one.kind is not one.VAR_KEYWORD):
            value = URL if name == chosen else "kept/file"
            given[name] = [value] if one.annotation.startswith("Sequence") else value
    try:
        function(**given)
    except BadInputError as error:
        is_path = re.search(r"\bPath", inspect.signature(function).parameters[chosen].annotation)
        assert not is_path or "secret" not in str(error)  # noqa: PT017
    except (TypeError, ValueError, AttributeError):
        pass  # of an argument that is of another kind
    assert asked == []
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


@pytest.mark.parametrize("variable", [RUNS_VARIABLE, BENCHMARKS_VARIABLE])
def test_a_root_of_the_environment_is_local_where_the_runs_are(
    variable, asked, tmp_path, monkeypatch, capfd
):
    write_trial(tmp_path / "runs/r", "c", "t", [])
    monkeypatch.setenv(variable, URL)
    assert run(["evaluate", "r"]) == 3
    assert f"{variable}: a URL is not taken here" in capfd.readouterr().err
    monkeypatch.setenv(variable, f"file://{tmp_path}/runs")
    assert run(["evaluate", "r", "--output-dir", "out"]) in (0, 2)
    assert asked == []
