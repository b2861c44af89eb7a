from __future__ import annotations

import os
from pathlib import Path

import pytest

from retrieval_eval.serve.app import CONTENT_TYPES, find_report, list_pages, run_without_details


@pytest.fixture
def reports(tmp_path):
    root = tmp_path / "reports"
    (root / "run-1" / ".hidden").mkdir(parents=True)
    for name in ("index.html", "a.csv", "notes.txt", "key.pem", ".env.html", ".hidden/x.html"):
        (root / "run-1" / name).write_text(name)
    (tmp_path / "secret.html").write_text("secret")
    (tmp_path / "reports-2").mkdir()
    (tmp_path / "reports-2" / "x.html").write_text("secret")
    return root


def test_known_suffixes_below_the_root_are_found(reports):
    found = find_report(reports, "run-1/index.html")
    assert found == (reports / "run-1" / "index.html").resolve()
    assert find_report(reports, "run-1/a.csv") is not None


@pytest.mark.parametrize(
    "path",
    [
        *("", ".", "..", "/", "run-1", "run-1/", "run-1/none.html"),
        *("run-1/notes.txt", "run-1/key.pem", "run-1/.env.html", "run-1/.hidden/x.html"),
        *("../secret.html", "run-1/../../secret.html", "run-1/../run-1/index.html"),
        *("run-1/./index.html", "run-1//index.html", "/run-1/index.html"),
        *("../reports-2/x.html", "..\\secret.html", "run-1\\index.html"),
        *("run-1/index.html\0", "\0", "run-1/index.html\n", "%2e%2e/secret.html", "x" * 5000),
        *("\ud800.html", "/etc/passwd", "//etc/passwd", "~/x.html", "index.html/x.html"),
    ],
)
def test_everything_else_does_not_exist(reports, path):
    assert find_report(reports, path) is None


def test_links_out_of_the_tree_do_not_exist(reports):
    outside = reports.parent
    (reports / "link.html").symlink_to(outside / "secret.html")
    (reports / "folder").symlink_to(outside / "reports-2")
    (reports / "loop.html").symlink_to(reports / "loop.html")
    (reports / "hidden.html").symlink_to(reports / "run-1" / ".env.html")
    (reports / "notes.html").symlink_to(reports / "run-1" / "notes.txt")
    for path in ("link.html", "folder/x.html", "loop.html", "hidden.html", "notes.html"):
        assert find_report(reports, path) is None, path


def test_a_link_within_the_tree_is_followed(reports):
    (reports / "latest.html").symlink_to(reports / "run-1" / "index.html")
    assert find_report(reports, "latest.html") == (reports / "run-1" / "index.html").resolve()


def test_only_regular_files(reports):
    os.mkfifo(reports / "pipe.html")
    (reports / "folder.html").mkdir()
    assert find_report(reports, "pipe.html") is None
    assert find_report(reports, "folder.html") is None


def test_a_name_that_is_not_utf_8_has_no_address(reports):
    before = list_pages(reports)
    try:
        Path(os.fsdecode(os.fsencode(reports) + b"/\xff.html")).write_text("x")
    except OSError:
        pytest.skip("this file system has no such names")
    assert list_pages(reports) == before
    assert find_report(reports, "\udcff.html") is None


def test_pages_are_listed_by_address(reports):
    (reports / "b & c").mkdir()
    (reports / "b & c" / "ä#.HTML").write_text("x")
    (reports / "out").symlink_to(reports.parent / "reports-2")
    (reports / "out.html").symlink_to(reports.parent / "secret.html")
    assert list(list_pages(reports)) == ["b%20%26%20c/%C3%A4%23.HTML", "run-1/index.html"]
    assert list_pages(reports / "none") == {}


def test_only_the_page_of_a_run_can_have_details_that_are_missing(reports):
    details = "run-1/details/index.html"
    assert run_without_details(reports, details) is None
    (reports / "run-1" / "run_report.ipynb").write_text("{}")
    assert run_without_details(reports, details) == reports.resolve() / "run-1"
    assert list_pages(reports)["run-1/index.html"]
    (reports / "other").symlink_to(reports / "run-1")
    others = (
        "other/details/index.html",
        "run-1/details/",
        "run-1/details/a.csv",
        "details/index.html",
    )
    for path in (*others, "../reports/run-1/details/index.html"):
        assert run_without_details(reports, path) is None, path
    (reports / "run-1" / "details").mkdir()
    (reports / details).write_text("details")
    assert run_without_details(reports, details) is None


def test_content_types_cannot_be_taken_for_scripts():
    assert not [kind for kind in CONTENT_TYPES.values() if "javascript" in kind]
