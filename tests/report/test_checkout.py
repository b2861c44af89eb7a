from __future__ import annotations

from retrieval_eval.report.provenance import commit

ONE, OTHER = "1" * 40, "2" * 40


def test_outside_a_checkout_there_is_no_commit(tmp_path):
    assert commit(tmp_path) is None


def test_a_branch_a_packed_branch_and_a_detached_head(tmp_path):
    git = tmp_path / ".git"
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    assert commit(tmp_path) is None
    (git / "packed-refs").write_text(f"# pack-refs\n{OTHER} refs/heads/main\n")
    assert commit(tmp_path) == OTHER
    (git / "refs" / "heads" / "main").write_text(f"{ONE}\n")
    assert commit(tmp_path) == ONE
    (git / "HEAD").write_text(f"{OTHER}\n")
    assert commit(tmp_path) == OTHER


def test_a_head_that_points_out_of_the_checkout_is_not_followed(tmp_path):
    git = tmp_path / ".git"
    git.mkdir()
    (tmp_path / "secret").write_text(ONE)
    (git / "HEAD").write_text("ref: ../secret\n")
    assert commit(tmp_path) is None
