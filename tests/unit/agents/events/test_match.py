from __future__ import annotations

import pytest

from retrieval_eval.agents.events.match import Workspace
from retrieval_eval.agents.events.roots import Layout, Root
from retrieval_eval.records import FileRef, GroundTruth, Repository
from tests.trials import truth


def position(workspace: Workspace, raw: str, repository: str | None = None) -> int | None:
    file = workspace.resolve(raw, repository=repository)
    return None if file is None else workspace.position(file)


def possible(workspace: Workspace, raw: str, repository: str | None = None) -> list[str]:
    placed = workspace.place(raw, repository=repository)
    return [str(p.file) for p in placed if p.doubt == "unplaced_path"]


def test_a_repository_qualified_file_is_found_locally_and_remotely():
    workspace = Workspace(truth("widgets::src/a.py"))
    for raw in (
        "/workspace/src/a.py",
        "/workspace/acme__widgets__1.2/src/a.py",
        "/workspace/acme__widgets-7/src/a.py",
        "/workspace/widgets--v1/src/a.py",
        "widgets::src/a.py",
        "/workspace/SRC/A.py",
    ):
        assert position(workspace, raw) == 0, raw
    assert position(workspace, "src/a.py", "github.com/mirror/widgets--1f3c") == 0


def test_the_same_path_in_another_repository_is_another_file():
    workspace = Workspace(truth("widgets::src/a.py", "gears::src/b.py"))
    assert position(workspace, "src/a.py", "github.com/mirror/gears--1") is None
    assert position(workspace, "/workspace/gears/src/a.py") is None
    assert position(workspace, "src/b.py", "gears") == 1


def test_a_remote_file_is_none_of_the_package_that_has_the_name_of_its_repository():
    stated = GroundTruth(
        (FileRef("widgets/conftest.py"),), repositories=(Repository("widgets"),), confidence="high"
    )
    assert position(Workspace(stated), "conftest.py", "acme/widgets") is None
    assert not possible(Workspace(stated), "conftest.py", "acme/widgets")
    open_one = Workspace(truth("widgets/conftest.py"), remote_repositories=["acme/widgets"])
    assert possible(open_one, "conftest.py", "acme/widgets") == ["widgets/conftest.py"]


def test_folders_of_several_repositories_without_a_name_are_in_the_ground_truth():
    workspace = Workspace(truth("widgets/a.py", "gears/b.py"), remote_repositories=["x/widgets"])
    assert possible(workspace, "a.py", "x/widgets") == ["widgets/a.py"]
    both = Workspace(truth("widgets/a.py", "gears/b.py"), remote_repositories=["widgets", "gears"])
    assert position(both, "a.py", "widgets") == 0


def test_a_plain_ground_truth_path_is_found_under_a_checkout_folder():
    workspace = Workspace(truth("src/core/a.py"), remote_repositories=["acme/widgets--1"])
    assert position(workspace, "src/core/a.py", "acme/widgets--1") == 0


def test_a_folder_of_the_same_name_as_the_package_is_not_stripped():
    workspace = Workspace(truth("widgets/app.py"), remote_repositories=["acme/widgets"])
    assert position(workspace, "/workspace/widgets/app.py") == 0
    assert position(workspace, "widgets/app.py", "acme/widgets") == 0


def test_a_bare_manifest_name_is_the_one_at_the_root():
    several = Workspace(truth("package.json"), remote_repositories=["a/x", "a/y"])
    assert position(several, "/workspace/package.json") == 0
    assert position(several, "/workspace/packages/p/package.json") is None
    assert position(several, "package.json", "a/x") is None


def test_a_bare_source_name_may_be_a_file_in_any_folder():
    workspace = Workspace(truth("eval_variable.go"))
    assert position(workspace, "/workspace/eval_variable.go") == 0
    for raw in ("/workspace/internal/eval_variable.go", "/tmp/eval_variable.go"):
        assert position(workspace, raw) is None
        assert possible(workspace, raw) == ["eval_variable.go"]


def test_in_a_known_checkout_a_stated_bare_name_is_at_the_top():
    stated = GroundTruth((FileRef("eval_variable.go"),), confidence="high")
    root = Root("/srv/project", "observed", None, True)
    extracted = GroundTruth((FileRef("eval_variable.go"),), confidence="low")
    for expected, found in ((stated, []), (extracted, ["eval_variable.go"])):
        workspace = Workspace(expected, layout=Layout((root,), is_placed=True))
        assert possible(workspace, "/srv/project/internal/eval_variable.go") == found
        assert position(workspace, "/srv/project/eval_variable.go") == 0


@pytest.mark.parametrize("name", ["README.md", "Makefile", "package.json", "conftest.py"])
def test_a_name_that_most_folders_have_may_be_the_one_at_the_top_of_an_unknown_checkout(name):
    workspace = Workspace(truth(name))
    assert possible(workspace, f"/w/p/{name}") == [name]
    assert not possible(workspace, f"/workspace/packages/p/{name}")
    assert not possible(workspace, f"/usr/lib/node_modules/p/{name}")
    known = Workspace(truth(name), layout=Layout((), is_placed=True))
    assert not possible(known, f"/w/p/{name}")


@pytest.mark.parametrize("name", ["src/cart.py", "lib/cart.py", "bin/run.py", "README.md"])
def test_a_path_in_a_virtual_file_system_may_be_one_from_the_top_of_the_checkout(name):
    assert possible(Workspace(truth(name)), f"/{name}") == [name]
    known = Workspace(truth(name), layout=Layout((), is_placed=True))
    assert possible(known, f"/{name}") == ([name] if name == "src/cart.py" else [])


def test_a_relative_path_of_a_command_in_any_folder_may_be_each_file_that_ends_so():
    expected = truth("src/cart/totals.py", "README.md", "src/main.py")
    start = Root(".", "stated")
    workspace = Workspace(expected, layout=Layout((start,), has_workdirs=False))
    assert position(workspace, "src/cart/totals.py") == 0
    assert possible(workspace, "totals.py") == ["src/cart/totals.py"]
    assert possible(workspace, "cart/totals.py") == ["src/cart/totals.py"]
    assert possible(workspace, "README.md") == ["README.md"]
    assert possible(workspace, "src/main.py") == ["src/main.py"]
    assert not possible(workspace, "lib/main.py")
    assert not possible(workspace, "subtotals.py")


@pytest.mark.parametrize(("stated", "seen"), [("e\u0301", "\u00e9"), ("\u00e9", "e\u0301")])
def test_the_unicode_form_of_a_name_does_not_matter(stated, seen):
    workspace = Workspace(truth(f"src/{stated}t.py"))
    assert position(workspace, f"/workspace/src/{seen}t.py") == 0


def test_names_that_differ_only_in_case_are_reported():
    workspace = Workspace(truth("src/a.py"))
    workspace.resolve("docs/README.MD")
    assert not workspace.collisions
    workspace.resolve("docs/readme.md")
    assert workspace.collisions == ["docs/readme.md"]


@pytest.mark.parametrize("raw", ["/workspace/widgets", "/workspace", ""])
def test_a_checkout_folder_is_no_file(raw):
    assert Workspace(truth("widgets::src/a.py")).resolve(raw) is None


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*", ["src/a.py", "lib/b.py"]),
        ("/workspace/*", ["src/a.py", "lib/b.py"]),
        ("/workspace/src/*", ["src/a.py"]),
        ("/*.py", ["src/a.py", "lib/b.py"]),
        ("lib/*", ["lib/b.py"]),
        ("*/a.py", ["src/a.py"]),
        ("/srv/project/*", ["src/a.py", "lib/b.py"]),
        ("/srv/project/*/b.py", ["lib/b.py"]),
        ("/usr/lib/*", []),
        ("/workspace/node_modules/*", []),
        ("/workspace/other/*", []),
    ],
)
def test_a_pattern_covers_what_may_lie_below_its_folder(pattern, expected):
    workspace = Workspace(truth("src/a.py", "lib/b.py"))
    assert [str(file) for file in workspace.covered(pattern)] == expected


def test_a_pattern_above_a_checkout_covers_it_and_one_beside_it_does_not():
    root = Root("/srv/project", "observed", None, True)
    workspace = Workspace(truth("src/a.py"), layout=Layout((root,)))
    assert workspace.covered("/srv/*") == workspace.covered("/srv/project/s*") != ()
    assert workspace.covered("/srv/other/*") == ()


def test_a_pattern_of_many_stars_is_read_in_time():
    workspace = Workspace(truth("a" * 4000))
    assert workspace.covered("*".join("a" * 2000) + "b") == ()


def test_a_bare_name_is_not_found_in_another_repository_than_the_tasks():
    expected = GroundTruth(
        files=(FileRef("eval_variable.go"), FileRef("src/b.go", "gears")),
        repositories=(Repository("widgets"), Repository("gears")),
        primary="widgets",
    )
    workspace = Workspace(expected)
    assert possible(workspace, "/workspace/internal/eval_variable.go") == ["eval_variable.go"]
    assert not possible(workspace, "/workspace/gears/internal/eval_variable.go")


def test_an_absolute_path_of_the_ground_truth_is_itself():
    workspace = Workspace(truth("/home/dev/w/src/a.py"), cwd="/home/dev/w")
    assert position(workspace, "/home/dev/w/src/a.py") == 0
