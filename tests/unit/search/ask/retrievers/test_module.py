from __future__ import annotations

import sys

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.model.gold import GoldQuery, GoldSet
from retrieval_eval.search.ask import Retriever, ScoredDoc, Staged
from retrieval_eval.search.ask.retrievers import open_retriever
from retrieval_eval.search.run.running import run_queries

CODE = '''
class Index:
    """With a default, so that it can be made without options."""

    def __init__(self, path="none", boost="1"):
        self.path, self.boost = path, float(boost)

    def search(self, query, *, corpus, k):
        return [(f"{self.path}:{query}:{corpus}:{k}", self.boost)]

    def first_stage(self, query, *, corpus, k):
        return []

    def rerank(self, query, docs, *, k):
        return docs

    def method(self, query, *, corpus, k):
        return ["by method"]


index = Index("ready")


class Holder:
    inner = Index("inner")


def function(query, corpus, k, prefix=""):
    return [(prefix + query, 2.0)]


def threads(query, *, corpus, k):
    return []


threads.is_thread_safe = True


def factory(path):
    return Index(path)


def anything(**options):
    return Index(options.get("path", "default"))


def makes_nothing():
    return None


def breaks():
    raise OSError("no\\nindex here")


def leaves():
    raise SystemExit(0)


async def waits(query, *, corpus, k):
    return []


number = 7
'''


@pytest.fixture
def project(tmp_path, monkeypatch):
    (tmp_path / "package_of_mine").mkdir()
    (tmp_path / "package_of_mine" / "__init__.py").write_text("", encoding="utf-8")
    (tmp_path / "package_of_mine" / "search.py").write_text(CODE, encoding="utf-8")
    (tmp_path / "package_of_mine" / "broken.py").write_text("import not_there", encoding="utf-8")
    (tmp_path / "package_of_mine" / "script.py").write_text("raise SystemExit(0)", encoding="utf-8")
    (tmp_path / "package_of_mine" / "syntax.py").write_text("def (:", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield "package_of_mine.search"
    for name in [name for name in sys.modules if name.startswith("package_of_mine")]:
        del sys.modules[name]


def answer(retriever):
    return list(retriever.search("levy", corpus="law", k=3))


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("index", {}, ("ready:levy:law:3", 1.0)),
        ("Holder.inner", {}, ("inner:levy:law:3", 1.0)),
        ("Index", {}, ("none:levy:law:3", 1.0)),
        ("Index", {"path": "mine", "boost": "2.5"}, ("mine:levy:law:3", 2.5)),
        ("factory", {"path": "made"}, ("made:levy:law:3", 1.0)),
        ("anything", {"path": "made"}, ("made:levy:law:3", 1.0)),
        ("anything", {}, ("default:levy:law:3", 1.0)),
        ("function", {}, ("levy", 2.0)),
        ("function", {"prefix": "x-"}, ("x-levy", 2.0)),
        ("index.method", {}, "by method"),
    ],
)
def test_objects_classes_factories_and_functions_are_retrievers(project, name, options, expected):
    retriever = open_retriever(f"{project}:{name}", options)
    assert isinstance(retriever, Retriever)
    assert answer(retriever) == [expected]


def test_the_authors_own_object_is_used_as_it_is(project):
    retriever = open_retriever(f"{project}:Index")
    assert isinstance(retriever, Staged)
    assert retriever is not open_retriever(f"{project}:Index")
    assert open_retriever(f"{project}:index") is open_retriever(f"{project}:index")


def test_a_function_says_what_it_is(project):
    plain = open_retriever(f"{project}:function")
    assert plain.describe() == {"name": f"{project}:function", "reranker": None}
    assert plain.is_thread_safe is False
    assert open_retriever(f"{project}:threads").is_thread_safe is True
    gold = GoldSet((GoldQuery("q", "levy", "law"),), "f")
    assert run_queries(gold, plain, depth=1)[0].ranking == (ScoredDoc("levy", 2.0),)


@pytest.mark.parametrize(
    ("spec", "options", "message"),
    [
        ("package_of_mine.serch:index", {}, "no module 'package_of_mine.serch'; looked in"),
        ("not_there_either:index", {}, "no module 'not_there_either'"),
        ("package_of_mine.broken:x", {}, "importing 'package_of_mine.broken' fails: Module"),
        ("package_of_mine.script:x", {}, "importing 'package_of_mine.script' fails: SystemExit"),
        ("package_of_mine.syntax:x", {}, "importing 'package_of_mine.syntax' fails: SyntaxError"),
        ("package_of_mine.search:idx", {}, r"has no 'idx' \(it has Holder, Index, anything"),
        ("package_of_mine.search:index.x.y", {}, "has no 'index.x.y'"),
        ("package_of_mine.search:number", {}, "is of type int; expected an object with search"),
        ("package_of_mine.search:index", {"a": "1"}, "a retriever already and takes no options"),
        ("package_of_mine.search:Index", {"pth": "x"}, "options pth fails: TypeError"),
        ("package_of_mine.search:factory", {}, "with no options fails: TypeError"),
        ("package_of_mine.search:function", {"z": "1"}, "cannot be called with the options z"),
        ("package_of_mine.search:function", {"k": "1"}, "cannot be called with the options k"),
        ("package_of_mine.search:makes_nothing", {}, "gives a value of type NoneType; expected"),
        ("package_of_mine.search:breaks", {}, "fails: OSError: no index here; expected"),
        ("package_of_mine.search:leaves", {}, "fails: SystemExit: 0"),
        ("package_of_mine.search:waits", {}, "is an async function"),
    ],
)
def test_errors_name_module_and_attribute(project, spec, options, message):
    with pytest.raises(BadInputError, match=message) as caught:
        open_retriever(spec, options)
    assert str(caught.value).startswith(f"{spec}: ")
