from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.paths import WORKSPACE_ROOTS, file_ref

ANY = st.text(max_size=60)
PART = st.from_regex(r"[A-Za-z0-9_()\[\] .+-]{1,12}", fullmatch=True).filter(
    lambda p: p.strip(" .") and "--" not in p and p == p.strip()
)
PATH = st.lists(PART, min_size=1, max_size=5).map("/".join)


WRITTEN = st.text(alphabet="ab./-_@:#?%~\\L3F \"'", max_size=40)


@given(ANY, st.none() | ANY, st.none() | ANY)
def test_normalisation_never_raises(raw, cwd, repository):
    file_ref(raw, cwd=cwd, repository=repository)


@given(st.sampled_from(["", *WORKSPACE_ROOTS, "https://github.com/o/r/blob/main/"]), WRITTEN)
def test_normalisation_is_idempotent(root, rest):
    found = file_ref(root + rest)
    if found is not None and found.path == found.path.strip():
        assert file_ref(str(found)) == found


@given(PATH)
def test_clean_paths_are_fixed_points(path):
    found = file_ref(path)
    assert found is not None
    assert file_ref(str(found)) == found


@given(PATH, st.sampled_from(WORKSPACE_ROOTS))
def test_a_workspace_root_never_changes_the_file(path, root):
    assert file_ref(root + path) == file_ref(path)


@given(PATH)
def test_no_path_climbs_out(path):
    found = file_ref("../../" + path, cwd="/workspace/a")
    assert found is not None
    assert ".." not in found.path.split("/")
