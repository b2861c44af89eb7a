"""The documentation: complete, linked, generated from what it describes; its examples run."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import get_args

import click
import pytest

import retrieval_eval
from retrieval_eval.agents.events.evidence import INCOMPLETE, OTHER_FILES
from retrieval_eval.agents.events.exposure import N_LINES
from retrieval_eval.agents.metrics.catalog import METRICS
from retrieval_eval.agents.study.threats import THREATS
from retrieval_eval.agents.traces.formats import FORMATS
from retrieval_eval.cli import group
from retrieval_eval.model import DOCUMENTS, INPUTS
from retrieval_eval.ranking.measures import NAMES
from retrieval_eval.records import Doubt
from retrieval_eval.report.registered import FIGURES, TABLES
from retrieval_eval.search.run.named_metrics import BLOCK_OF
from tests.generated import FORMATS_PAGE, all_traps, proofs
from tests.lab.drivers import UNPROVED, registry


@pytest.fixture(scope="module")
def docs(project) -> Path:
    return project / "docs"


@pytest.fixture(scope="module")
def pages(docs) -> ModuleType:
    spec = importlib.util.spec_from_file_location("reference_pages", docs / "reference_pages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _text(pages, page: str) -> str:
    return "\n".join(pages.PAGES[page]())


def _prose(text: str) -> str:
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)


def _slug(heading: str) -> str:
    """Return the anchor of a heading, as Git hosts and the site make it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.replace("`", "")).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def test_links_to_headings_lead_to_one(project, docs, pages):
    files = [*project.glob("*.md"), *docs.rglob("*.md"), project / "reports" / "README.md"]
    assert len(files) > 50
    broken = []
    for file in files:
        for target, anchor in re.findall(
            r"\]\(([^)#\s:]*)#([^)\s]+)\)", _prose(file.read_text(encoding="utf-8"))
        ):
            page = (file.parent / target).resolve() if target else file
            text = page.read_text(encoding="utf-8")
            if pages.MARKER in text:  # the build of the site checks these
                continue
            found = re.findall(
                r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE
            )
            if anchor not in map(_slug, found):
                broken.append(f"{file.relative_to(project)}: {target}#{anchor}")
    assert broken == []


def test_the_map_for_language_models_has_every_page(docs):
    text = (docs / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# retrieval_eval\n\n> ")
    linked = re.findall(r"^- \[[^\]]+\]\(([^)]+)\): \w", text, flags=re.MULTILINE)
    assert len(linked) == text.count("](")
    written = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    expected = {name for name in written if not re.match(r"index\.md|decisions/\d", name)}
    assert sorted(linked) == sorted(expected)


def test_the_reference_has_every_metric_with_its_formula(pages):
    text = _text(pages, "reference/metrics")
    for metric in METRICS.values():
        name = f"{metric.name}@k" if metric.has_cutoff else metric.name
        assert f"### `{name}`" in text
        assert metric.formula in text
    for name in (*NAMES, *BLOCK_OF):
        assert f"### `{name}`" in text


@pytest.mark.parametrize(
    ("page", "names"),
    [("formats", FORMATS), ("threats", THREATS), ("traps", all_traps())],
    ids=["formats", "threats", "traps"],
)
def test_a_page_made_of_a_registry_has_every_entry(pages, page, names):
    text = _text(pages, page)
    assert [name for name in names if f"`{name}`" not in text] == []


def test_the_page_of_formats_states_what_the_lab_found():
    page = FORMATS_PAGE.read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    run_by_lab = {kind.split()[0] for one in registry().values() for kind in one.traces}
    for name, found in proofs().items():
        mine = [row for row in rows if row.startswith(f"| `{name}` |") and row.count("|") == 8]
        assert not found or name not in UNPROVED, f"{name} is run"
        assert found or name in {*UNPROVED, *run_by_lab}, f"{name} is run, or a reason is stated"
        assert len(mine) == len(found)
        listed = [line for line in page.splitlines() if line.startswith("- `")]
        assert bool(found) or any(f"`{name}`" in line for line in listed)
        for proof, row in zip(found, mine, strict=False):
            run, *counts = (cell.strip() for cell in row.split("|")[2:7])
            assert run.startswith(f"{proof.harness} {proof.run['version']}")
            assert run.endswith(proof.run["date"])
            shown = dict(zip(("right", "possible", "wrong", "unread"), counts, strict=True))
            assert {k: int(n) for k, n in shown.items() if n != "0"} == proof.traces["verdicts"]


def test_every_pinned_package_has_a_row_with_its_licence(pages):
    rows = re.findall(
        r"^\| ([\w.-]+) \| [\w.]+ \| .+ \| (.+) \|$", _text(pages, "dependencies"), re.MULTILINE
    )
    assert len(rows) > 80
    assert dict(rows)["msgspec"] == "BSD-3-Clause"


def test_every_formula_is_one(pages):
    latex = pytest.importorskip("docutils.utils.math.latex2mathml")
    formulae = re.findall(
        r"^\$\$\n(.*?)\n\$\$", _text(pages, "reference/metrics"), re.MULTILINE | re.DOTALL
    )
    assert len(formulae) > 20
    for formula in formulae:
        assert "<merror" not in latex.tex2mathml(formula, as_block=True)


def test_the_reference_has_every_field_of_every_document(pages):
    text = _text(pages, "reference/documents")
    for kind, document in {**DOCUMENTS, **INPUTS}.items():
        assert f"Kind `{kind}`" in text
        for field in document.struct.__struct_encode_fields__:
            assert f"| `{field}` |" in text
    anchors = set(re.findall(r"^\(([\w-]+)\)=$", text, flags=re.MULTILINE))
    assert set(re.findall(r"\]\(#([\w-]+)\)", text)) <= anchors


def test_the_reference_has_every_command(pages):
    text = _text(pages, "reference/commands")

    def names(command: click.Command, path: str):
        yield path
        if isinstance(command, click.Group):
            for name in command.commands if not hasattr(command, "_lazy") else command._lazy:
                context = click.Context(command)
                yield from names(command.get_command(context, name), f"{path} {name}")

    found = list(names(group, "retrieval-eval"))
    assert len(found) > 20
    assert [name for name in found if f"\n## {name}\n" not in text] == []
    assert [name for name in found if f"Usage: {name} " not in text] == []


def test_the_reference_has_every_public_name(pages):
    pytest.importorskip("sphinx")
    text = _text(pages, "reference/python")
    spaces = {"plot": FIGURES, "table": TABLES}
    names = [f"{space}.{name}" for space, entries in spaces.items() for name in entries]
    names += [name for name in retrieval_eval.__all__ if name not in {*spaces, "__version__"}]
    assert [n for n in names if not re.search(rf":: retrieval_eval\.{n}\b", text)] == []


def _examples(file: Path) -> list[str]:
    text = file.read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["metric", "notebooks", "harness"])
def test_examples_of_the_how_tos_run(docs, name):
    defined: dict[str, object] = {}
    for example in _examples(docs / "howto" / f"{name}.md"):
        exec(compile(example, f"{name}.md", "exec"), defined)
    assert len(defined) > 1


def test_the_page_on_evidence_names_every_doubt_and_every_gap(docs):
    text = (docs / "evidence.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \| [^|]*\|$", text.partition("## Bounds")[0], re.MULTILINE) == [
        *get_args(Doubt)
    ]
    gaps = text.partition("## Gaps")[2].partition("\n## ")[0]
    stated: dict[str, str | None] = {}
    for flags, where in re.findall(r"^\| (`.*?) \| (\w+)", gaps, re.MULTILINE):
        kind = {"anywhere": "anywhere", "at": "end", "nowhere": None}[where]
        stated |= dict.fromkeys(re.findall(r"`(\w+)`", flags), kind)
    assert stated == {flag: found.gap for flag, found in INCOMPLETE.items()}
    prose = " ".join(text.split())
    assert f"it is {OTHER_FILES:,}, once per trial" in prose
    assert (N_LINES, "at least three lines" in prose) == (3, True)


def test_every_notebook_is_described(project, docs):
    page = (docs / "howto" / "notebooks.md").read_text(encoding="utf-8")
    notebooks = {path.name for path in (project / "notebooks").glob("*.ipynb")}
    assert notebooks == set(re.findall(r"^\| `notebooks/(\w+\.ipynb)`", page, flags=re.MULTILINE))
    lessons = {path.name for path in (project / "notebooks" / "explore").glob("*.ipynb")}
    assert lessons == set(re.findall(r"^\| `(\w+\.ipynb)`", page, flags=re.MULTILINE))


class _Requests(HTMLParser):
    """The addresses that a page loads by itself: links are followed by people only."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "link" or "src" in given:
            self.found += [given[name] for name in ("src", "href", "srcset") if given.get(name)]


@pytest.mark.extra
@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_requests_nothing(project, docs, tmp_path):
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_parser")
    pytest.importorskip("furo")
    site = tmp_path / "site"
    command = [
        *["-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d"],
        str(tmp_path / "trees"),
    ]
    built = subprocess.run(
        [sys.executable, *command, str(docs), str(site)],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr[-3000:]
    found = list(site.rglob("*.html"))
    assert len(found) > 50
    for page in found:
        reader = _Requests()
        reader.feed(page.read_text(encoding="utf-8"))
        assert [to for to in reader.found if re.match(r"(\w+:)?//", to)] == [], page.name
    for sheet in (site / "_static").rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"url\(['\"]?(\w+:)?//|@import", text), sheet.name
    assert "<math" in (site / "reference" / "metrics.html").read_text(encoding="utf-8")
    named = re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    assert [name for name in named if not (site / name).is_file()] == []
