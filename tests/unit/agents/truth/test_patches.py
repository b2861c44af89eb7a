"""Files named by reference patches and by the gold patch of a solution."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from retrieval_eval.agents.truth.readers import read_gold_patch, read_patches, touched_by

HUNK = "@@ -1 +1 @@\n-a\n+b\n"


def names(text: str) -> list[str]:
    return [entry.path for entry in touched_by([text]).files]


@pytest.mark.parametrize(
    ("diff", "expected"),
    [
        (f"--- a/a/b.py\n+++ b/a/b.py\n{HUNK}", ["a/b.py"]),
        (f"--- /dev/null\n+++ b/new.py\n{HUNK}", ["new.py"]),
        (f"--- a/gone.py\n+++ /dev/null\n{HUNK}", ["gone.py"]),
        (
            "diff --git a/old.py b/new.py\nrename from old.py\nrename to new.py\n",
            ["old.py", "new.py"],
        ),
        (
            "diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n",
            ["i.png"],
        ),
        (f'--- "a/s\\303\\244 x.py"\n+++ "b/s\\303\\244 x.py"\n{HUNK}', ["sä x.py"]),
        (f"--- x.py\t2026-01-01\n+++ x.py\t2026-01-02\n{HUNK}", ["x.py"]),
        # A removed line that looks like a header is content of its hunk.
        ("--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1 @@\n--- a/no.py\n y\n", ["x.sql"]),
        ("", []),
        ("no diff at all\n", []),
    ],
)
def test_names_in_a_diff(diff, expected):
    assert names(diff) == expected


GIT = "diff --git a/{old} b/{new}\n"


@pytest.mark.parametrize(
    ("diff", "existing", "added"),
    [
        (f"--- /dev/null\n+++ b/new.py\n{HUNK}", [], ["new.py"]),
        (f"--- a/gone.py\n+++ /dev/null\n{HUNK}", ["gone.py"], []),
        (
            GIT.format(old="old.py", new="new.py") + "rename from old.py\nrename to new.py\n",
            ["old.py"],
            ["new.py"],
        ),
        (
            GIT.format(old="old.py", new="new.py") + "copy from old.py\ncopy to new.py\n",
            ["old.py"],
            ["new.py"],
        ),
        # An empty file, and one that is no text, have no header of names.
        (
            GIT.format(old="p/__init__.py", new="p/__init__.py") + "new file mode 100644\n",
            [],
            ["p/__init__.py"],
        ),
        (
            GIT.format(old="i.png", new="i.png")
            + "new file mode 100644\nBinary files /dev/null and b/i.png differ\n",
            [],
            ["i.png"],
        ),
        # An empty file that gets its first line was there.
        (
            GIT.format(old="e.py", new="e.py") + "--- a/e.py\n+++ b/e.py\n@@ -0,0 +1 @@\n+x\n",
            ["e.py"],
            [],
        ),
        # diff -N gives a file that does not exist the beginning of Unix time.
        (
            (
                "--- a/n.py\t1970-01-01 00:00:00.000000000 +0000\n+++ b/n.py\t2026-01-02\n"
                "@@ -0,0 +1 @@\n+x\n"
            ),
            [],
            ["n.py"],
        ),
        # A series of commits in one text: the second changes what the first created.
        (
            f"--- /dev/null\n+++ b/new.py\n{HUNK}--- a/new.py\n+++ b/new.py\n{HUNK}",
            [],
            ["new.py"],
        ),
        # Two files that swap their names were both there.
        (
            GIT.format(old="a.py", new="b.py")
            + "rename from a.py\nrename to b.py\n"
            + GIT.format(old="b.py", new="a.py")
            + "rename from b.py\nrename to a.py\n",
            ["a.py", "b.py"],
            [],
        ),
    ],
)
def test_files_that_a_diff_adds_were_not_there_before(diff, existing, added):
    found = touched_by([diff])
    assert [entry.path for entry in found.existing] == existing
    assert [entry.path for entry in found.added] == added


def test_what_one_patch_adds_another_one_does_not_find():
    first = f"--- /dev/null\n+++ b/new.py\n{HUNK}"
    second = f"--- a/new.py\n+++ b/new.py\n{HUNK}--- a/x.py\n+++ b/x.py\n{HUNK}"
    found = touched_by([first, second])
    assert [entry.path for entry in found.added] == ["new.py"]
    assert [entry.path for entry in found.existing] == ["x.py"]


def test_a_diff_whose_hunks_do_not_add_up_still_names_its_files():
    cut = (
        "--- a/x.py\n+++ b/x.py\n@@ -1,9 +1,9 @@\n a\n--- a/y.py\n+++ b/y.py\n@@ -1,5 +1,5 @@\n a\n"
    )
    assert names(cut) == ["x.py", "y.py"]
    commented = "--- a/x.sql\n+++ b/x.sql\n@@ -1,9 +1,9 @@\n--- a remark\n y\n"
    assert names(commented) == ["x.sql"]
    renamed = "rename from a.py\nrename to b.py\n--- a/c.py\n+++ b/c.py\n@@ -1,9 +1 @@\nx\n"
    assert names(renamed) == ["a.py", "b.py", "c.py"]


def test_the_first_patch_with_files_is_read(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/reference_fix.patch").write_text("")
    (tmp_path / "tests/expected.diff").write_text(f"--- a/x.py\n+++ b/x.py\n{HUNK}")
    found = read_patches(tmp_path)
    assert found is not None
    assert (found.name, [e.path for e in found.entries]) == ("tests/expected.diff", ["x.py"])
    assert found.problems == ("tests/reference_fix.patch: names no file",)
    assert read_patches(tmp_path / "nowhere") is None


def write(root: Path, name: str, content: str) -> None:
    path = root / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)


GOLD = f"--- a/gold.py\n+++ b/gold.py\n{HUNK}"


@pytest.mark.parametrize(
    ("files", "source"),
    [
        ({"solution/solve.sh": f"cat <<EOF > x\nhi\nEOF\ngit apply <<'P'\n{GOLD}P\n"}, "solve.sh"),
        ({"solution/solve.sh": f'git apply - <<-"END_1"\n{GOLD}'}, "solve.sh"),
        (
            {"solution/solve.sh": "patch -p1 < /s/fix.patch\n", "solution/fix.patch": GOLD},
            "fix.patch",
        ),
        ({"tests/config.json": json.dumps({"patch": GOLD})}, "config.json"),
    ],
)
def test_gold_patches(tmp_path, files, source):
    for name, content in files.items():
        write(tmp_path, name, content)
    found = read_gold_patch(tmp_path)
    assert found is not None
    assert found.name.endswith(source)
    assert found.confidence == "medium"
    assert (
        [e.path for e in found.entries] == ["gold.py"] == [e.path for e in found.edit_entries or ()]
    )


def test_a_solution_without_patch_names_nothing(tmp_path):
    assert read_gold_patch(tmp_path) is None
    write(tmp_path, "solution/solve.sh", "sed -i s/a/b/ src/x.py\n")
    found = read_gold_patch(tmp_path)
    assert found is not None
    assert (found.entries, found.edit_entries) == ((), None)


def test_a_here_document_may_be_indented_by_tabs(tmp_path):
    body = "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+y\n"
    indented = "".join(f"\t{line}\n" for line in body.splitlines())
    (tmp_path / "solution").mkdir()
    (tmp_path / "solution/solve.sh").write_text(f"patch -p1 <<-END\n{indented}\tEND\n")
    found = read_gold_patch(tmp_path)
    assert found is not None
    assert [entry.path for entry in found.entries] == ["src/a.py"]
