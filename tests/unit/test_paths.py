from __future__ import annotations

import pytest

from retrieval_eval.paths import diff_path, file_ref, repository_name


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("a/b/c.py", "a/b/c.py"),
        ("./src//a/../b.py", "src/b.py"),
        ("/workspace/src/a.py", "src/a.py"),
        ("/repo_full/src/a.py", "src/a.py"),
        ("/testbed/src/a.py", "src/a.py"),
        ("/app/app/(auth)/page.tsx", "app/(auth)/page.tsx"),
        ("/ccb_crossrepo/src/widgets/a.py", "widgets/a.py"),
        ("/workspace/widgets--v1.32.0/pkg/a.go", "widgets::pkg/a.go"),
        ("/workspace/mirror/widgets--v1.2/source/a.cc", "widgets::source/a.cc"),
        ("widgets::src/a.py", "widgets::src/a.py"),
        ("acme/widgets::src/a.py", "widgets::src/a.py"),
        ("github.com/acme/widgets::src/a.py", "widgets::src/a.py"),
        ("acme/widgets (release-1.16)::src/a.py", "widgets::src/a.py"),
        ("github.com/acme/widgets/-/blob/src/a.py%3FL1-9", "widgets::src/a.py"),
        ("https://host/x/m/widgets--1f3c@9a9a/-/blob/src/a.py%3FL1400-1700", "widgets::src/a.py"),
        ("https://github.com/acme/widgets/blob/main/src/a.py#L10-L20", "widgets::src/a.py"),
        ("https://raw.githubusercontent.com/acme/widgets/v1.9.1/src/a.py", "widgets::src/a.py"),
        ("https://github.com/acme/widgets/blob/refs/heads/main/src/a.py", "widgets::src/a.py"),
        ("https://www.github.com/acme/widgets/blob/main/src/a.py", "widgets::src/a.py"),
        ("https://raw.githubusercontent.com/a/widgets/refs/tags/v1/src/a.py", "widgets::src/a.py"),
        ("https://gitlab.com/acme/widgets/-/blob/main/src/a.py", "widgets::src/a.py"),
        ("gitlab.com/acme/widgets/-/blob/src/a.py", "widgets::src/a.py"),
        ("src\\win\\a.py", "src/win/a.py"),
        ("file:///workspace/src/a%20b.py", "src/a b.py"),
        ("/tmp/notes.md", "/tmp/notes.md"),
        ("docs/rfc-123-x.md", "docs/rfc-123-x.md"),
        ("Makefile", "Makefile"),
        ("/workspace/../etc/passwd", "/etc/passwd"),
        ("../../../etc/passwd", "etc/passwd"),
    ],
)  # fmt: skip
def test_every_way_to_write_a_path(raw, expected):
    assert str(file_ref(raw)) == expected


@pytest.mark.parametrize(
    "raw",
    ["", " ", ".", "/", "/workspace", "/workspace/", "https://x.org/a", "a\nb", "\x00", "x" * 5000],
)
def test_what_is_no_file(raw):
    assert file_ref(raw) is None


def test_a_relative_path_is_relative_to_the_working_directory():
    assert str(file_ref("a.py", cwd="/workspace/src")) == "src/a.py"
    assert str(file_ref("../b.py", cwd="/workspace/src")) == "b.py"
    assert str(file_ref("/workspace/c.py", cwd="/workspace/src")) == "c.py"


def test_a_path_beside_a_repository_is_relative_to_it():
    assert str(file_ref("src/a.py", repository="github.com/m/widgets--1f3c")) == "widgets::src/a.py"
    assert str(file_ref("/src/a.py", repository="widgets", cwd="/workspace")) == "widgets::src/a.py"


def test_case_is_kept_but_does_not_tell_files_apart():
    one, other = file_ref("README.MD"), file_ref("readme.md")
    assert one.path == "README.MD"
    assert one.key == other.key


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("a/b/c.py", "b/c.py"),
        ("b/a/b/c.py", "a/b/c.py"),
        ("/dev/null", None),
        ('"a/caf\\303\\251.py"', "café.py"),
        ("a/x.py\t2024-01-01", "x.py"),
        ("c.py", "c.py"),
    ],
)
def test_diff_prefixes_are_stripped_once(raw, expected):
    assert diff_path(raw) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("github.com/mirror/widgets--1f3c", "widgets"),
        ("acme/widgets@v2", "widgets"),
        ("https://github.com/acme/widgets.git", "widgets"),
        ("^github\\.com/acme/widgets$", "widgets"),
        ("", None),
        ("git@github.com:acme/widgets.git", "widgets"),
        ("ssh://git@github.com/acme/widgets.git", "widgets"),
        ("https://user:token@github.com/acme/widgets", "widgets"),
        ("widgets@v1.2", "widgets"),
    ],
)
def test_repository_names(raw, expected):
    assert repository_name(raw) == expected
