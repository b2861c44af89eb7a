"""Pseudonyms: nothing of the original is left, and the same name is the same everywhere."""

from __future__ import annotations

import ast
import json
import os
import re
import stat
import unicodedata
from pathlib import Path

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.search.gold import gold_faults, load_gold_set
from retrieval_eval.search.gold.corpus import read_corpus
from retrieval_eval.search.gold.identity import query_id
from retrieval_eval.search.gold.pseudonyms import (
    Entity,
    PseudonymMapping,
    new_mapping,
    pseudonymize,
    read_mapping,
)


def _numbers(start, stop):
    return [("room", str(number)) for number in range(start, stop)]


def test_too_little_room_is_said():
    with pytest.raises(BadInputError, match="no stand-in is left"):
        new_mapping().add_identifiers(_numbers(10, 60))


def test_texts_that_are_pseudonymised_already_are_noticed():
    mapping = PseudonymMapping(bytes(32))
    mapping.add_identifiers([("account", "12345678")])
    (stand_in,) = mapping.identifiers.values()
    with pytest.raises(BadInputError, match="pseudonymised already"):
        mapping.add_identifiers([("account", stand_in)])


def test_entities_are_not_merged_behind_the_back():
    mapping = PseudonymMapping(bytes(32))
    mapping.add_entities([Entity("x", ("Ardent",), (False,)), Entity("x", ("Bolder",), (False,))])
    with pytest.raises(BadInputError, match="different entities"):
        mapping.add_entities([Entity("x", ("Ardent", "Bolder"), (False, False))])


PACKAGE = Path(__file__).resolve().parents[4] / "retrieval_eval"

ENTITIES = """
[[entity]]
kind = "organisation"
name = "Zephyrine Holdings"
aliases = ["Zephyrine", "ZPH"]

[[entity]]
kind = "person"
name = "Odalys Quimby-Brandt"
aliases = ["Quimby"]

[[entity]]
kind = "place"
name = "Köthenwalde"

[identifier]
ticket = "TCK#[0-9]{4}"
"""

SPLIT = [
    "Zephyrine <b>Holdings</b>",
    "Zephy<wbr>rine",
    "**Zephyrine** Holdings",
    "Zephy\u00adrine Holdings",
    "Zeph\u200byrine",
    "ZEPHYRINE&nbsp;HOLDINGS",
    "zephyrine%20holdings",
    "%5aephyrine",
    "&#90;ephyrine",
    "Zephyrine\n   Holdings",
    "zephyrine_holdings",
    "ZephyrineHoldings",
    "Ｚｅｐｈｙｒｉｎｅ",
    '<a title="Zephyrine">here</a>',
    'Zephy<i title="Zephyrine">rine</i>',
    "Odalys Quimby–Brandt's",
    "Quimbys",
    unicodedata.normalize("NFD", "Köthenwalde"),
    "kothenwalde",
    "ask ZPH.",
    "zph-2024",
]

# Every original, as a reader would look for it after the text was shown to him.
ORIGINALS = ["zephyrine", "holdings", "quimby", "odalys", "kothenwalde", "zph"]

IDENTIFIERS = {
    "email": "odalys.q@mail.zephyrine.example",
    "phone": "+49 30 901820-44",
    "ipv4": "192.0.2.55",
    "ipv6": "2001:db8:0:1::7",
    "iban": "DE44 5001 0517 5407 3249 31",
    "contract": "CTR-2024-00917",
    "account": "4401992210",
    "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "ticket": "TCK#5521",
}


def _seen(text):
    """Return a text as a reader sees it, in plain letters: no markup, no escapes, no accents."""
    from html import unescape
    from urllib.parse import unquote

    text = unescape(unquote(text))
    plain = ""
    for shown in (text, re.sub(r"<[^<>]*>|[*`~]", "", text)):
        decomposed = unicodedata.normalize("NFKD", shown)
        plain += " " + "".join(
            char for char in decomposed if unicodedata.category(char) not in {"Cf", "Mn"}
        )
    return plain.casefold()


def _write(path, rows):
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")
    return path


def _case(folder, gold, corpus, entities=ENTITIES):
    folder.mkdir(exist_ok=True)
    (folder / "entities.toml").write_text(entities, encoding="utf-8")
    return {
        "gold": _write(folder / "in.jsonl", gold),
        "corpus": _write(folder / "docs.jsonl", corpus),
        "entities": folder / "entities.toml",
        "out": folder / "out",
        "mapping": folder / "secret" / "mapping.json",
    }


@pytest.fixture
def case(tmp_path):
    """Return the arguments of a run over texts in which originals were planted everywhere."""
    noise = ". ".join([*SPLIT, *IDENTIFIERS.values()])
    gold = [
        {
            "id": "zephyrine-q1",
            "query": "what did Zephyrine's lawyer O'Neill sign",
            "corpus": "zephyrine_docs",
            "area": "Köthenwalde",
            "relevant": {"zephyrine/holdings/policy-1": 2, "doc 4401992210": 0},
            "source": "chair",
            "origin": "replayed",
            "note": noise,
            "labels": [
                {"labeller": "quimby", "doc": "zephyrine/holdings/policy-1", "grade": 2}
            ],
            "anchors": {
                "zephyrine/holdings/policy-1": {
                    "source": "Zephyrine/policy.md", "start": 0, "end": 9, "sha256": "0" * 64
                }
            },
            "Zephyrine ref": {"account": 4401992210, "by": ["Quimby", {"Köthenwalde": SPLIT}]},
        },
        {
            "query": "who is Quimby?",
            "corpus": "zephyrine_docs",
            "id": query_id("zephyrine_docs", "who is Quimby?"),
            "relevant": ["doc 4401992210"],
            "source": "bootstrap",
        },
    ]  # fmt: skip
    corpus = [
        {"id": "zephyrine/holdings/policy-1", "corpus": "zephyrine_docs", "title": "ZEPHYRINE",
         "text": noise, "path": "/srv/zephyrine/quimby.md", "sha256": IDENTIFIERS["digest"]},
        {"id": "doc 4401992210", "corpus": "zephyrine_docs", "text": "Call +493090182044."},
    ]  # fmt: skip
    return _case(tmp_path, gold, corpus)


def test_nothing_of_the_original_is_left(case):
    result = pseudonymize(**case)
    for path in (result.gold, result.corpus):
        for row in map(json.loads, path.read_text("utf-8").splitlines()):
            seen = _seen(json.dumps(row, ensure_ascii=False))
            for original in ORIGINALS:
                assert original not in seen, original
            for identifier in IDENTIFIERS.values():
                assert identifier.casefold() not in seen
            assert "4401992210" not in seen
            assert "901820" not in re.sub(r"\W", "", seen)
    assert "zephyrine" not in str(sorted(case["out"].iterdir())).casefold()


def test_an_entity_has_one_pseudonym_everywhere(case):
    result = pseudonymize(**case)
    first, second = map(json.loads, result.gold.read_text("utf-8").splitlines())
    (pseudonym,) = re.findall(r"what did (\w+)'s", first["query"])
    low = pseudonym.lower()
    assert first["id"] == f"{low}-q1"
    assert first["corpus"] == f"{low}_docs"
    assert f"{low}/policy-1" in first["relevant"]
    assert f"{pseudonym} ref" in first
    assert pseudonym.upper() in first["note"]
    (person,) = re.findall(r"who is (\w+)\?", second["query"])
    assert first["labels"][0]["labeller"] == person.lower()
    assert f"{person}'s" in first["note"]
    assert first["Zephyrine ref".replace("Zephyrine", pseudonym)]["by"][0] == person
    documents = read_corpus(result.corpus).documents
    assert documents[0].title == pseudonym.upper()
    assert documents[0].extra["path"] == f"/srv/{low}/{person.lower()}.md"


def test_labelled_documents_still_match(case):
    result = pseudonymize(**case)
    assert gold_faults(result.gold, corpus=read_corpus(result.corpus)) == []
    ids = {document.id for document in read_corpus(result.corpus).documents}
    queries = load_gold_set(result.gold).queries
    assert set(queries[0].relevant) == ids
    assert set(queries[1].relevant) < ids


def test_what_could_confirm_a_guess_is_gone(case):
    result = pseudonymize(**case)
    first, second = load_gold_set(result.gold).queries
    assert first.anchors == {}
    assert result.n_anchors == 1
    # The id of a row without one of its own is a digest of corpus and query.
    assert second.id == query_id(second.corpus, second.query)
    assert second.id != query_id("zephyrine_docs", "who is Quimby?")
    assert result.n_ids == 1


@pytest.mark.parametrize("kind", sorted(IDENTIFIERS))
def test_a_stand_in_has_the_shape_of_the_identifier(case, kind):
    gold = json.loads(pseudonymize(**case).gold.read_text("utf-8").splitlines()[0])
    original = IDENTIFIERS[kind]
    # The note is the texts of SPLIT and then the identifiers, each after ". ".
    stand_in = gold["note"].split(". ")[-len(IDENTIFIERS) :][list(IDENTIFIERS).index(kind)]
    assert len(stand_in) == len(original)
    assert stand_in != original
    for new, old in zip(stand_in, original, strict=True):
        assert new.isdigit() == old.isdigit() or kind in {"digest", "ipv6"}
        assert new.isupper() == old.isupper() or kind in {"digest", "ipv6"}
        assert old.isalnum() or new == old


def test_an_identifier_has_one_stand_in_however_it_is_written(case):
    result = pseudonymize(**case)
    gold = json.loads(result.gold.read_text("utf-8").splitlines()[0])
    account = next(doc for doc in gold["relevant"] if doc.startswith("doc "))[4:]
    (reference,) = [value for name, value in gold.items() if name.endswith(" ref")]
    assert reference["account"] == int(account)
    assert account in gold["note"].split(". ")
    digits = re.sub(r"\D", "", gold["note"].split(". ")[-len(IDENTIFIERS) + 1])
    assert re.sub(r"\D", "", read_corpus(result.corpus).documents[1].text) == digits


def test_the_same_mapping_gives_the_same_bytes_and_another_key_does_not(case, tmp_path):
    first = pseudonymize(**case)
    written = {path: path.read_bytes() for path in (first.gold, first.corpus, first.mapping)}
    pseudonymize(**case)
    assert {path: path.read_bytes() for path in written} == written
    other = pseudonymize(**{**case, "out": tmp_path / "o2", "mapping": tmp_path / "m2.json"})
    assert other.gold.read_bytes() != written[first.gold]


def test_the_mapping_grows_and_keeps_what_it_has(case):
    first = pseudonymize(**case)
    before = read_mapping(first.mapping)
    once = first.gold.read_bytes()
    with case["entities"].open("a", encoding="utf-8") as stream:
        stream.write('\n[[entity]]\nkind = "person"\nname = "O\'Neill"\n')
    pseudonymize(**case)
    after = read_mapping(first.mapping)
    assert before.entities.items() < after.entities.items()
    assert before.identifiers == after.identifiers
    assert "Neill" in once.decode()
    assert "Neill" not in first.gold.read_text("utf-8")


def test_the_mapping_is_for_its_owner_only(case, monkeypatch):
    modes = []
    replace = Path.replace

    def watched(self, target):
        modes.append((Path(target).name, stat.S_IMODE(self.stat().st_mode)))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", watched)
    mask = os.umask(0)
    try:
        result = pseudonymize(**case)
    finally:
        os.umask(mask)
    # Before it had its name as well as after.
    assert ("mapping.json", 0o600) in modes
    assert stat.S_IMODE(result.mapping.stat().st_mode) == 0o600
    assert [path.name for path in result.mapping.parent.iterdir()] == ["mapping.json"]


def test_a_mapping_that_others_may_read_is_refused(case):
    result = pseudonymize(**case)
    result.mapping.chmod(0o640)
    with pytest.raises(BadInputError, match="others may read it"):
        pseudonymize(**case)


def test_the_mapping_is_not_given_away(case):
    with pytest.raises(BadInputError, match="the folder to give away"):
        pseudonymize(**{**case, "mapping": case["out"] / "deep" / "mapping.json"})
    assert not case["out"].exists()


@pytest.mark.parametrize(
    "text", ["", "{}", '{"pseudonyms":1}', '{"pseudonyms":1,"key":"00"}', "[1]"]
)
def test_a_file_that_is_no_mapping_is_refused_and_kept(case, text):
    case["mapping"].parent.mkdir()
    case["mapping"].touch(mode=0o600)
    case["mapping"].write_text(text, encoding="utf-8")
    with pytest.raises(BadInputError, match=r"mapping\.json"):
        pseudonymize(**case)
    assert case["mapping"].read_text("utf-8") == text


def test_a_mapping_with_a_stand_in_of_another_length_is_refused(case):
    result = pseudonymize(**case)
    document = json.loads(result.mapping.read_text("utf-8"))
    for row in document["identifiers"]:
        row["stand_in"] = row["stand_in"][:3]
    result.mapping.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(BadInputError, match="not a mapping of pseudonyms, or it was edited"):
        pseudonymize(**case)


def test_an_account_number_is_hidden_in_whatever_form_it_is_a_number(tmp_path):
    rows = [{"id": "d", "text": "x", "one": 4401992210, "two": 4401992210.0, "half": 4401992210.5}]
    gold = [{"id": "q", "query": "x", "source": "chair", "relevant": ["d"]}]
    result = pseudonymize(**_case(tmp_path, gold, rows))
    document = json.loads(result.corpus.read_text("utf-8"))
    assert document["one"] == document["two"] != 4401992210
    # A measure is none.
    assert document["half"] == 4401992210.5


def test_inputs_are_never_replaced(case):
    case["out"].mkdir()
    gold = case["gold"].rename(case["out"] / "gold-set.jsonl")
    with pytest.raises(BadInputError, match="would be replaced"):
        pseudonymize(**{**case, "gold": gold})


def test_nothing_else_reads_the_mapping():
    users = set()
    texts = {path: path.read_text("utf-8") for path in PACKAGE.rglob("*.py")}
    for path in (path for path, text in texts.items() if "pseudonym" in text):
        for node in ast.walk(ast.parse(texts[path])):
            names = []
            if isinstance(node, ast.ImportFrom):
                names = [node.module or "", *(f"{node.module}.{a.name}" for a in node.names)]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            if any(".pseudonym" in name for name in names):
                users.add(path.relative_to(PACKAGE).as_posix())
    own = {p.relative_to(PACKAGE).as_posix() for p in PACKAGE.glob("search/gold/pseudonym*.py")}
    assert users - own == {"cli/gold.py"}


def test_the_longest_name_wins_and_leaves_no_rest(tmp_path):
    entities = """
    [[entity]]
    kind = "organisation"
    name = "Marlowe"
    [[entity]]
    kind = "organisation"
    name = "Marlowe Quay"
    [[entity]]
    kind = "organisation"
    name = "Quay Partners"
    """
    texts = ["Marlowe", "Marlowe Quay", "Marlowe Quay Partners"]
    rows = [{"id": str(n), "text": text} for n, text in enumerate(texts)]
    gold = [{"id": "q", "query": "x", "source": "chair", "relevant": ["0"]}]
    result = pseudonymize(**_case(tmp_path, gold, rows, entities))
    one, two, three = (document.text for document in read_corpus(result.corpus).documents)
    assert one != two
    # The two names overlap; "Quay Partners" is longer, and nothing of "Marlowe" stays.
    assert len({one, two, three}) == 3
    assert " " not in three


def test_short_names_are_words_of_their_own(tmp_path):
    entities = '[[entity]]\nkind = "organisation"\nname = "ALB"\n'
    rows = [{"id": "0", "text": "The album of ALB and albs, alb_2 and ALB's album."}]
    gold = [{"id": "q", "query": "x", "source": "chair", "relevant": ["0"]}]
    result = pseudonymize(**_case(tmp_path, gold, rows, entities))
    (document,) = read_corpus(result.corpus).documents
    assert re.fullmatch(
        r"The album of ([A-Z]+) and [a-z]+s, [a-z]+_2 and \1's album\.", document.text
    )
    case = _case(tmp_path / "anywhere", gold, rows, entities + 'match = "anywhere"\n')
    (document,) = read_corpus(pseudonymize(**case).corpus).documents
    assert "alb" not in document.text.casefold()


def test_markup_around_a_name_stays_balanced(tmp_path):
    entities = '[[entity]]\nkind = "organisation"\nname = "Zephyrine Holdings"\n'
    rows = [{"id": "0", "text": "see <b>Zephyrine</b> Holdings and **Zephyrine** Holdings"}]
    gold = [{"id": "q", "query": "x", "source": "chair", "relevant": ["0"]}]
    (document,) = read_corpus(
        pseudonymize(**_case(tmp_path, gold, rows, entities)).corpus
    ).documents
    assert re.fullmatch(r"see <b>(\w+)</b> and \*\*\1\*\*", document.text)


def test_plain_numbers_dates_versions_and_times_stay(tmp_path):
    text = "On 2025-01-06 at 12:30:45 release 7.0.1 (build 64012) cost 0.12345678 of 1234567."
    rows = [{"id": "0", "text": text, "n": 12345, "share": 0.5, "is": True, "none": None}]
    gold = [{"id": "q", "query": "x", "source": "chair", "relevant": ["0"]}]
    result = pseudonymize(**_case(tmp_path, gold, rows))
    assert json.loads(result.corpus.read_text("utf-8")) == rows[0]
    assert (result.n_entities, result.n_found) == (3, 0)


def test_documents_that_would_become_one_are_named(tmp_path):
    rows = [{"id": "Zephyrine/1", "text": "a"}, {"id": "Zephyrine Holdings/1", "text": "b"}]
    gold = [{"id": "q", "query": "x", "source": "chair", "relevant": ["Zephyrine/1"]}]
    case = _case(tmp_path, gold, rows)
    with pytest.raises(BadInputError, match=r"'Zephyrine/1' and 'Zephyrine Holdings/1'"):
        pseudonymize(**case)
    assert not case["out"].exists()


def test_names_of_fields_go_with_the_file(tmp_path):
    gold = [{"id": "q", "query": "Zephyrine", "source": "chair", "hits": {"d": 3}}]
    case = _case(tmp_path, gold, [{"id": "d", "text": "t"}])
    toml = 'max_grade = 3\n[fields]\nrelevant = "hits"\n'
    (tmp_path / "gold.toml").write_text(toml, encoding="utf-8")
    (query,) = load_gold_set(pseudonymize(**case).gold).queries
    assert dict(query.relevant) == {"d": 3}


@pytest.mark.parametrize(
    ("entities", "message"),
    [
        ("", "lists no entity"),
        ("[[entity]\n", "not valid TOML"),
        ("[other]\n", "expected"),
        ("[[entity]]\nname = 'Acme'\n", "entity 1: kind"),
        ("[[entity]]\nkind = 'x'\nname = 'A'\n", "entity 1: name and aliases"),
        ("[[entity]]\nkind = 'x'\nname = 'Acme'\nalias = 'B'\n", "entity 1: expected"),
        ("[[entity]]\nkind = 'x'\nname = 'Acme'\nmatch = 'some'\n", "match"),
        ("[[entity]]\nkind = 'x'\nname = 'Acme'\n[[entity]]\nkind = 'y'\nname = 'ACME'\n", "two"),
        ("[[entity]]\nkind = 'x'\nname = 'Acme'\n[identifier]\nn = '('\n", "no usable pattern"),
        ("[[entity]]\nkind = 'x'\nname = 'Acme'\n[identifier]\nn = 'a*'\n", "no usable pattern"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused(tmp_path, entities, message):
    gold = [{"id": "q", "query": "x", "source": "chair", "relevant": ["0"]}]
    case = _case(tmp_path, gold, [{"id": "0", "text": "t"}], entities)
    with pytest.raises(BadInputError, match=message):
        pseudonymize(**case)
    assert not case["out"].exists()
    assert not case["mapping"].exists()


def test_a_list_may_be_jsonl(tmp_path, case):
    path = _write(tmp_path / "list.jsonl", [{"kind": "person", "name": "O'Neill"}])
    text = pseudonymize(**{**case, "entities": path}).gold.read_text("utf-8")
    assert "Neill" not in text
    assert "lawyer" in text
