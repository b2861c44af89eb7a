"""An unforeseen fault ends with 70 and one sentence, and never looks like a regression."""

from __future__ import annotations

import errno
import os
import re
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from retrieval_eval.cli import group, run
from retrieval_eval.cli.common import LazyGroup

SENTENCE = re.compile(
    r"retrieval-eval: an unexpected fault \((.+)\); the traceback is in (\S+), to be added .*\n"
)


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """The folder of temporary files, in which the logs are."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def leaves(command, path=()):
    """Every command that does something, by the words that name it."""
    if not isinstance(command, LazyGroup) and not hasattr(command, "commands"):
        return [(path, command)]
    context = command.make_context("retrieval-eval", [], resilient_parsing=True)
    names = command.list_commands(context)
    return [
        found
        for name in names
        for found in leaves(command.get_command(context, name), (*path, name))
    ]


LEAVES = dict(leaves(group))


def test_the_commands_are_found():
    assert len(LEAVES) > 20
    assert ("search", "guard") in {path[:2] for path in LEAVES}


def fail(error):
    def callback(**_):
        raise error

    return callback


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_says_it_in_one_sentence(path, monkeypatch, capsys):
    command = LEAVES[path]
    monkeypatch.setattr(command, "params", [])
    monkeypatch.setattr(command, "callback", fail(RuntimeError("something new")))
    assert run(path) == 70
    said = capsys.readouterr()
    assert said.out == ""
    what, log = SENTENCE.fullmatch(said.err).groups()
    assert what == "RuntimeError: something new"
    assert Path(log).read_text().endswith("RuntimeError: something new\n")
    assert stat.S_IMODE(Path(log).stat().st_mode) == 0o600


def test_a_program_that_runs_the_group_by_click_gets_the_same(monkeypatch):
    monkeypatch.setattr(LEAVES["gold", "backlog"], "params", [])
    monkeypatch.setattr(LEAVES["gold", "backlog"], "callback", fail(RuntimeError("something new")))
    found = CliRunner().invoke(group, ["gold", "backlog"])
    assert found.exit_code == 70
    assert SENTENCE.fullmatch(found.stderr)
    assert CliRunner().invoke(group, ["no-such-command"]).exit_code == 64
    assert CliRunner().invoke(group, ["--version"]).exit_code == 0


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        KeyError("events"),
        SystemExit(0),
        SystemExit(1),
        OSError(99, "Cannot assign requested address"),
        ExceptionGroup("two", [ValueError("a"), TypeError("b")]),
        UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_it_was(error, monkeypatch, capsys, temporary):
    command = LEAVES["evaluate",]
    monkeypatch.setattr(command, "params", [])
    monkeypatch.setattr(command, "callback", fail(error))
    assert run(["evaluate"]) == 70
    assert SENTENCE.fullmatch(capsys.readouterr().err)
    (log,) = temporary.iterdir()
    assert "Traceback (most recent call last)" in log.read_text()


@pytest.mark.parametrize("place", [None, "runs/a.json"])
def test_what_the_system_refuses_is_no_fault_of_the_program(place, monkeypatch, capsys, temporary):
    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), *filter(None, [place]))
    monkeypatch.setattr(LEAVES["evaluate",], "params", [])
    monkeypatch.setattr(LEAVES["evaluate",], "callback", fail(error))
    assert run(["evaluate"]) == 3
    why = f"{place or 'the output'}: the system refuses it (No space left on device)"
    assert capsys.readouterr().err == f"retrieval-eval: {why}\n"
    assert not list(temporary.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(("words", "code"), [(["--version"], 3), (["nope"], 64)])
def test_a_full_disk_behind_stdout_and_stderr_is_no_breach(words, code):
    """The interpreter itself would end with 1, which is the code of a breach."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "retrieval_eval", *words], stdout=full, stderr=full, check=False
        )
    assert done.returncode == code


def test_without_a_log_the_sentence_has_the_last_line(temporary, monkeypatch, capsys):
    monkeypatch.setattr(tempfile, "tempdir", str(temporary / "missing"))
    monkeypatch.setattr(LEAVES["evaluate",], "params", [])
    monkeypatch.setattr(LEAVES["evaluate",], "callback", fail(KeyError("events")))
    assert run(["evaluate"]) == 70
    said = capsys.readouterr().err
    assert said == "retrieval-eval: an unexpected fault (KeyError: 'events')\n"


def test_an_interrupt_and_a_reader_that_is_gone_keep_their_codes(monkeypatch, capsys):
    monkeypatch.setattr(LEAVES["evaluate",], "params", [])
    for error, code in ((KeyboardInterrupt(), 130), (BrokenPipeError(32, "Broken pipe"), 141)):
        monkeypatch.setattr(LEAVES["evaluate",], "callback", fail(error))
        assert run(["evaluate"]) == code
    assert "unexpected" not in capsys.readouterr().err
