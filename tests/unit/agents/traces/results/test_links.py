"""Web addresses of files."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.results.mentions import file_link, links_in


@pytest.mark.parametrize(
    ("url", "link"),
    [
        ("https://h/github.com/a/b@3f/-/blob/c/d.py%3FL1400-1700", ("c/d.py", ((1400, 1700),))),
        ("https://h/github.com/a/b/-/blob/c/d.py?L7", ("c/d.py", ((7, 7),))),
        ("https://h/github.com/a/b/-/blob/app/%28auth%29/p.tsx", ("app/(auth)/p.tsx", None)),
        ("https://github.com/a/b/blob/main/c.py#L3-L9", ("c.py", ((3, 9),))),
        ("https://github.com/a/b/raw/main/c.py", ("c.py", None)),
        ("https://raw.githubusercontent.com/a/b/refs/heads/main/c/d.py", ("c/d.py", None)),
        ("https://raw.githubusercontent.com/a/b/v1/c.py?token=x", ("c.py", None)),
    ],
)
def test_files(url, link):
    assert file_link(url) == ("github.com/a/b", *link)


@pytest.mark.parametrize(
    "url",
    [
        *("", "c/d.py", "ftp://github.com/a/b/blob/m/c", "https://github.com/a/b"),
        *("https://github.com/a/b/tree/main/c", "https://raw.githubusercontent.com/a/b/v1"),
        *("https://h/-/blob/c.py", "https://h/r/-/blob/", "https://h/r/-/blob/" + "x" * 5000),
    ],
)
def test_other_addresses(url):
    assert file_link(url) is None


def test_brackets_of_the_path_are_kept():
    (link,) = links_in("(see https://github.com/a/b/blob/m/c(1))")
    assert link[1] == "c(1)"


@pytest.mark.parametrize(
    "line",
    [
        "see [c](https://github.com/a/b/blob/m/c.py).",
        "see (https://github.com/a/b/blob/m/c.py), and more",
        "`https://github.com/a/b/blob/m/c.py`",
        "<https://github.com/a/b/blob/m/c.py>;",
        '{"url":"https://github.com/a/b/blob/m/c.py"}',
    ],
)
def test_what_surrounds_a_link_is_cut_off(line):
    assert links_in(line) == [("github.com/a/b", "c.py", None)]
