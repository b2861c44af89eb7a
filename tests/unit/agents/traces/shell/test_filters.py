"""What a filter leaves of the lines of a search or a listing."""

from __future__ import annotations

import pytest

from retrieval_eval.agents.traces.shell import ShellSession

HITS = "src/a.py:9:alpha = 1\nsrc/b.py:10:alpha = 2"
BOTH = [("/w/src/a.py", ((9, 9),)), ("/w/src/b.py", ((10, 10),))]

KEEPS = [
    *("sed -n '1,5p'", "sed 5q", "sed '6,$d'", "sed '/foo/d'", "sed -n '1,5p;10q'", "sed -n '$p'"),
    *("sed -e 1,2d -e 5q", "awk 'NR<6'", "awk '/x/'", "awk '!s[$0]++'", "awk '{print}'"),
    *("awk 'NR>=2 && NR<=4 {print}'", "awk 'length($0) < 200'", "awk 'NR==1,NR==5'"),
    *("head", "tail -n 3", "grep -v foo", "sort -u", "uniq", "tac", "less -R", "tee /dev/null"),
    *("perl -ne 'print if /x/'", "perl -ne 'print if $. <= 5'", "sed 's#^\\./##'"),
    *("cut -c1-200", "cut -b1-", "cut -c-80", "awk '{print substr($0,1,200)}'", "colrm 80"),
    *("sed 's/\\(.\\{200\\}\\).*/\\1/'", "sed -E 's/^(.{200}).*/\\1/'", "column -t"),
    *("perl -pe 's/^(.{80}).*/$1/'", "head -50 | sed -n '1,20p'", "sort | cut -c1-100 | head"),
]
SEARCHES = ["rg -n alpha src", "git grep -n alpha -- src", "grep -rn alpha src"]


def found(command: str, output: str) -> list[tuple[str, object, object]]:
    events = ShellSession("/w").analyse(command, output).events
    return [(t.path, t.lines, t.doubt) for event in events for t in event.targets]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("filtering", KEEPS)
def test_lines_of_which_the_beginning_passes_keep_their_meaning(search, filtering):
    assert found(f"{search} | {filtering}", HITS) == [(*hit, None) for hit in BOTH]


@pytest.mark.parametrize(
    ("filtering", "output"),
    [
        ("nl", "     1\tsrc/a.py:9:alpha\n     2\tsrc/b.py:10:alpha"),
        ("cat -n", "     1\tsrc/a.py:9:alpha\n     2\tsrc/b.py:10:alpha"),
        ("uniq -c", "      1 src/a.py:9:alpha\n      1 src/b.py:10:alpha"),
        ("awk '{print NR\": \"$0}'", "1: src/a.py:9:alpha\n2: src/b.py:10:alpha"),
        ("cut -d: -f1,2", "src/a.py:9\nsrc/b.py:10"),
        ("awk -F: '{print $1\":\"$2}'", "src/a.py:9\nsrc/b.py:10"),
        ("awk '{print $1}'", "src/a.py:9:alpha\nsrc/b.py:10:alpha"),
    ],
)
def test_lines_with_a_number_before_them_and_fields_keep_it_too(filtering, output):
    assert found(f"rg -n alpha src | {filtering}", output) == [(*hit, None) for hit in BOTH]


@pytest.mark.parametrize("filtering", ["sed 's/:.*//'", "cut -d: -f1", "awk -F: '{print $1}'"])
def test_names_alone_keep_no_lines(filtering):
    expected = [("/w/src/a.py", None, None), ("/w/src/b.py", None, None)]
    assert found(f"rg -n alpha src | {filtering}", "src/a.py\nsrc/b.py") == expected


@pytest.mark.parametrize(
    "filtering",
    [
        *("tr a-z A-Z", "sed 's/foo/bar/'", "perl -pe 's/foo/bar/'", "fold -w 80", "rev", "xargs"),
        *("xargs echo", "awk 'END{print NR}'", "sed G", "awk -F: '{print $1, $2}'", "mytool"),
        *("awk '{gsub(/a/, \"b\")} 1'", "sed -n 's/foo/bar/p'", "cut -d: -f3-", "paste -s"),
    ],
)
@pytest.mark.parametrize("search", SEARCHES)
def test_lines_that_may_be_changed_leave_what_was_searched_possible(search, filtering):
    assert found(f"{search} | {filtering}", HITS) == [("/w/src/*", None, "opaque_call")]


def test_names_that_a_width_may_have_cut_are_none():
    assert found("find . | cut -c1-8", "./a.py\n./src/lo") == [("/w/a.py", None, None)]
    assert found("find src | head -c 20", "src/a.py\nsrc/b.p") == [
        ("/w/src/a.py", None, None),
        ("/w/src/b.p*", None, "cut_result"),
    ]


def test_what_lies_around_hits_passes_a_choice_of_fields_whole():
    command = "grep -rn -C1 x src | cut -d: -f1"
    assert found(command, "src/a.py\nsrc/a.py-4-y") == [("/w/src/*", None, "opaque_call")]


@pytest.mark.parametrize(
    "command", ["awk 'END{print NR}' a.py", "cat a.py | awk '{n++} END{print n}'"]
)
def test_a_count_of_lines_shows_none(command):
    events = ShellSession("/w").analyse(command, "12").events
    assert [t.access for event in events for t in event.targets] == ["listed"]


@pytest.mark.parametrize(
    "command",
    ["cat --help a.py", "head --version a.py", "less --help a.py", "less -V a.py", "bat --help",
     "sed --help a.py", "rg --help x src", "tail --version", "sort --help a.py"],
)  # fmt: skip
def test_a_program_that_describes_itself_reads_nothing(command):
    assert found(command, "Usage: x [OPTION]... [FILE]...") == []


def test_options_that_look_like_a_request_for_help():
    assert found("grep -e --help a.py", "--help")[0][0] == "/w/a.py"
    assert found("sort -V a.py", "1")[0][0] == "/w/a.py"
    assert found("rg -n -- --help src", "src/a.py:9:--help") == [(*BOTH[0], None)]
