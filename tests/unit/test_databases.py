"""The server that the database tests run against: it is real, and it leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from tests.databases import PATIENCE_SECONDS, postgres_programs, postgres_server

PROGRAM = """
import sys, time
from tests.databases import postgres_programs, postgres_server
with postgres_server(postgres_programs()) as url:
    print(url, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def programs(postgres_url) -> Path:
    """The folder of PostgreSQL's programs; skipped where the server itself would be."""
    return postgres_programs()


def _folder(url: str) -> Path:
    return Path(make_url(url).query["host"])


def _answers(folder: Path) -> bool:
    try:
        psycopg.connect(host=str(folder), user="tester", dbname="postgres").close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.mark.extra
def test_the_server_and_its_folder_vanish_also_after_an_error(programs):
    folders = []

    def fail_inside():
        with postgres_server(programs) as url:
            folders.append(_folder(url))
            assert _answers(folders[0])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_inside()
    assert not folders[0].exists()


@pytest.mark.extra
def test_the_server_vanishes_when_the_tests_are_killed(programs, project):
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=project, stdout=subprocess.PIPE, text=True
    ) as tests:
        try:
            folder = _folder(tests.stdout.readline().strip())
            assert _answers(folder)
        finally:
            tests.kill()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not folder.exists()


@pytest.mark.extra
@pytest.mark.parametrize("has_ci", [True, False])
def test_only_a_person_s_machine_may_do_without_a_server(project, tmp_path, has_ci):
    """Without PostgreSQL the tests of databases are skipped, but fail in CI."""
    test = tmp_path / "test_one.py"
    test.write_text(
        "import tests.databases\n"
        "from tests.databases import postgres_url\n"
        "tests.databases.postgres_programs = lambda: None\n"
        "def test_one(postgres_url):\n    pass\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    environment |= {"PYTHONPATH": str(project)} | ({"CI": "true"} if has_ci else {})
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", os.devnull, test],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (1 if has_ci else 0), done.stdout
    assert ("1 error" if has_ci else "1 skipped") in done.stdout
