import os
import re
import threading

import pytest

from retrieval_eval.errors import BadInputError
from retrieval_eval.ranking import evaluate_rankings, hits
from retrieval_eval.ranking.trec import read_trec


@pytest.fixture(autouse=True, params=["kernel", "plain"])
def engine(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(hits, "kernel", None)
    elif hits.kernel is None:
        pytest.skip("the kernel is not compiled")


def rows(data):
    return [(query, doc, number) for query, docs in data.items() for doc, number in docs.items()]


@pytest.mark.parametrize(
    "text",
    [
        "q1 Q0 a 1 2.5 t\nq1 Q0 b 2 -1 t\nq2 Q0 a 1 1e-3 t\n",
        "q1 Q0 a 1 2.5 t\nq1 Q0 b 2 -1 t\nq2 Q0 a 1 1e-3 t",
        "q1\tQ0\ta\t1\t2.5\tt\nq1\tQ0\tb\t2\t-1\tt\nq2\tQ0\ta\t1\t1e-3\tt\n",
        "q1 Q0 a 1 2.5 t\r\nq1 Q0 b 2 -1 t\r\nq2 Q0 a 1 1e-3 t\r\n",
        "\n  q1  Q0 a\t1 2.5   t\n\nq1 Q0 b 2 -1 t\nq2 Q0 a 1 0.001 t  \n\n",
        "q2 Q0 a 1 1e-3 t\nq1 Q0 a 1 2.5 t\nq1 Q0 b 2 -1 t\n",
        "\ufeffq1 Q0 a 1 2.5 t\nq1 Q0 b 2 -1 t\nq2 Q0 a 1 1e-3 t\n",
        "\ufeffq1  Q0 a 1 2.5 t\nq1 Q0 b 2 -1 t\nq2 Q0 a 1 1e-3 t",
    ],
)
def test_every_layout_of_a_run_reads_the_same(tmp_path, text):
    path = tmp_path / "run.txt"
    path.write_bytes(text.encode())
    expected = [("q1", "a", 2.5), ("q1", "b", -1.0), ("q2", "a", 0.001)]
    assert sorted(rows(read_trec(path, "run"))) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q Q0 a 1 2 t\nq Q0 b 2 t\n", "line 2: expected 6 fields (query Q0 document"),
        ("q Q0 a 1 2 t\n\nq Q0 b 2 3 t more\n", "line 3: expected 6 fields"),
        ("q Q0 a 1 high t\n", "line 1: 'high' is not a number"),
        ("q Q0 a 1 2 t\nq Q0 b 2 nan t\n", "line 2"),
        ("q Q0 a 1 2 t\np Q0 a 1 2 t\nq Q0 a 2 1 t\n", "'q' (lines 1 and 3)"),
        ("q Q0 a 1 2 t\n\n\nq  Q0 a 2 1 t\n", "'q' (lines 1 and 4)"),
        ("q Q0 doc\xa0x 1 2 t\nq Q0 b 1 - t\n", "line 2: '-' is not a number"),
        # Six fields, if an empty one counted.
        (" q Q0 a 1 2\n", "line 1: expected 6 fields"),
        ("q Q0 a 1 2 \n", "line 1: expected 6 fields"),
        ("q Q0 a 1 2 ", "line 1: expected 6 fields"),
        ("q Q0 a  2 t\n", "line 1: expected 6 fields"),
        ("q Q0 a 1 2 t\n q Q0 b 1 2\n", "line 2: expected 6 fields"),
        ("q\tQ0 a 1 2 t 3\n", "line 1: expected 6 fields"),
        ("q Q0 a 1 2 t\nq  b 1 2 t\n", "line 2: expected 6 fields"),
        ("q Q0 a 1 2 t\nq Q0 b 1 -inf t\n", "line 2: a score of -inf; expected a finite number"),
        ("q Q0 a 1 1e999 t\n", "line 1: a score of inf"),
    ],
)
def test_bad_lines_are_named(tmp_path, text, message):
    path = tmp_path / "run.txt"
    path.write_text(text)
    with pytest.raises(BadInputError, match=re.escape(message)) as caught:
        read_trec(path, "run")
    assert str(path) in str(caught.value)


def test_qrels_and_their_faults(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("q 0 a 1\nq 0 b -1\n")
    assert rows(read_trec(path, "qrels")) == [("q", "a", 1), ("q", "b", -1)]
    path.write_text("q 0 a 1\nq 0 b 0.5\n")
    with pytest.raises(BadInputError, match=r"line 2: '0\.5' is not a grade"):
        evaluate_rankings(path, {}, ["RR"])
    path.write_text("q 0 a 1\nq 0 a 0\n")
    with pytest.raises(BadInputError, match=r"'a' occurs twice for query 'q' \(lines 1 and 2\)"):
        evaluate_rankings(path, {}, ["RR"])


def test_unreadable_files(tmp_path):
    with pytest.raises(BadInputError, match="cannot be read"):
        read_trec(tmp_path / "absent", "run")
    with pytest.raises(BadInputError, match="cannot be read"):
        read_trec(tmp_path, "run")
    path = tmp_path / "run.txt"
    path.write_bytes(b"q Q0 a  1 2 t\nq\xff Q0 b 1 2 t\n")
    with pytest.raises(BadInputError, match="line 2: not UTF-8"):
        read_trec(path, "run")
    path.write_bytes(b"q\xff Q0 b 1 2 t\n")
    with pytest.raises(BadInputError, match="not UTF-8"):
        read_trec(path, "run")


def test_an_empty_file_ranks_nothing(tmp_path):
    path = tmp_path / "run.txt"
    for text in ("", "\n"):
        path.write_text(text)
        result = evaluate_rankings({"q": {"a": 1}}, path, ["RR"])
        assert result.missing_queries == ("q",)


def test_a_pipe_is_read_to_its_end(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    expected = [(f"q{i // 7}", f"document-{i}", i / 8) for i in range(5000)]
    text = "".join(f"{q} Q0 {d} 1 {s} t\n" for q, d, s in expected)
    writer = threading.Thread(target=path.write_text, args=(text,))
    writer.start()
    found = rows(read_trec(path, "run"))
    writer.join()
    assert found == expected
