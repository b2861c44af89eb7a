from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from retrieval_eval.agents.events import extract_events
from retrieval_eval.agents.events.calls import read_calls
from retrieval_eval.agents.events.evidence import evidence
from retrieval_eval.agents.events.match import Workspace
from retrieval_eval.agents.events.roots import Layout, Root, find_layout, stated_roots
from retrieval_eval.paths import WORKSPACE_ROOTS, file_ref, is_elsewhere, local_path
from retrieval_eval.records import FileRef, GroundTruth, ToolCall, ToolResult, Trace

ANY = st.text(max_size=60)
PART = st.from_regex(r"[A-Za-z0-9_()\[\] .+-]{1,12}", fullmatch=True).filter(
    lambda p: p.strip(" .") and "--" not in p and p == p.strip()
)
WRITTEN = st.text(alphabet="ab./-_@:#?%~\\L3F \"'", max_size=40)
PATH = st.lists(PART, min_size=1, max_size=5).map("/".join)


@given(st.sampled_from(["", "file://", "/"]), ANY, st.none() | ANY, st.none() | ANY)
def test_normalisation_never_raises(start, raw, cwd, repository):
    file_ref(start + raw, cwd=cwd, repository=repository)
    is_elsewhere(start + raw)


def test_a_file_address_without_a_path_is_no_file():
    assert file_ref("file://", cwd="/w") == file_ref("/w")


@given(
    st.sampled_from(["C:\\", "/mnt/c/", "/mnt/c/mnt/d/", "/private/tmp/", "~/", "//wsl$/x/", "/"]),
    WRITTEN,
)
def test_the_one_spelling_of_a_path_is_a_fixed_point(start, rest):
    found = local_path(start + rest)
    if found is not None and found == found.strip():
        assert local_path(found) == found


@given(st.sampled_from(["", *WORKSPACE_ROOTS, "https://github.com/o/r/blob/main/"]), WRITTEN)
def test_normalisation_is_idempotent(root, rest):
    found = file_ref(root + rest)
    if found is not None and found.path == found.path.strip():
        assert file_ref(str(found)) == found


@given(PATH, st.sampled_from(WORKSPACE_ROOTS))
def test_a_clean_path_is_a_fixed_point_the_same_below_any_root_and_climbs_nowhere(path, root):
    found = file_ref(path)
    assert found is not None
    assert file_ref(str(found)) == file_ref(root + path) == found
    climbing = file_ref("../../" + path, cwd="/workspace/a")
    assert climbing is not None
    assert ".." not in climbing.path.split("/")


# Few short names, so that paths meet.
_NAME = st.sampled_from(["a.py", "b.py", "src", "x", "widgets", "SRC", "gears-1.2"])
_RELATIVE = st.lists(_NAME, min_size=1, max_size=4).map("/".join)
_FOLDER = st.sampled_from(["/workspace", "/srv", "/srv/x", "/home/dev/widgets", "/srv/src", "/x"])
_PLACE = st.tuples(_FOLDER, _RELATIVE).map("/".join) | _RELATIVE
_FILES = st.lists(
    st.tuples(_RELATIVE, st.sampled_from([None, "widgets", "gears"])), min_size=1, max_size=4
).map(lambda files: tuple({ref.key: ref for ref in (FileRef(*f) for f in files)}.values()))
_ROOTS = st.lists(
    st.builds(
        Root,
        _FOLDER,
        st.sampled_from(["stated", "observed", "inferred"]),
        st.sampled_from([None, "widgets", "gears"]),
        st.booleans(),
    ),
    max_size=3,
)


def _workspace(files: tuple[FileRef, ...], roots: list[Root]) -> Workspace:
    truth = GroundTruth(files=files)
    return Workspace(truth, layout=Layout((*stated_roots(None, truth), *roots)))


@given(_FILES, _ROOTS, _ROOTS, _PLACE)
def test_a_further_root_never_removes_a_certain_access(files, roots, further, path):
    for placed in _workspace(files, roots).place(path):
        if placed.doubt is None and placed.file in files:
            again = _workspace(files, [*roots, *further]).place(path)
            assert [(p.file, p.doubt) for p in again] == [(placed.file, None)]


@given(_FILES, _ROOTS, _PLACE)
def test_a_path_is_never_two_files_for_certain(files, roots, path):
    workspace = _workspace(files, roots)
    placed = workspace.place(path)
    assert len(placed) <= 1 or all(p.doubt for p in placed)
    assert all(p.file in files for p in placed if p.doubt)
    # What it resolves to resolves to itself, and case does not matter.
    found = workspace.resolve(path)
    if found is not None and found in files:
        assert workspace.resolve(found.path, repository=found.repository or None) in (found, None)
    lower, upper = (
        {(p.file.key, p.doubt) for p in workspace.place(text)}
        for text in (path.lower(), path.upper())
    )
    assert lower == upper


@given(_FILES, st.lists(_PLACE, min_size=1, max_size=6), st.none() | _FOLDER)
def test_a_trial_that_states_more_loses_no_certain_access(files, paths, cwd):
    truth = GroundTruth(files=files)
    calls = tuple(
        ToolCall(f"c{n}", "Read", {"file_path": path}, ToolResult("1\timport os"))
        for n, path in enumerate(paths)
    )
    trace = Trace(calls, "example", "transcript", False, True, cwd=cwd)
    plain = {
        ref
        for path in paths
        for p in Workspace(truth, cwd=cwd).place(path, cwd=cwd)
        if p.doubt is None and (ref := p.file) in files
    }
    found = evidence(extract_events(trace, truth))
    assert plain <= {file for file, value in found.items() if value == "certain"}
    layout = find_layout(read_calls(trace), cwd, truth)
    assert find_layout(read_calls(replace(trace)), cwd, truth) == layout
