from __future__ import annotations

import numpy as np
import pytest

from retrieval_eval.search.ask.query_vectors import EmbeddingCache


class Model:
    def __init__(self):
        self.asked = []

    def __call__(self, text):
        self.asked.append(text)
        return np.array([len(text), 0.1], dtype=np.float32)


def test_a_text_is_embedded_once():
    cache, model = EmbeddingCache("m"), Model()
    first = cache.get("levy", model)
    assert cache.get("levy", model) is first
    cache.get("fee", model)
    assert model.asked == ["levy", "fee"]
    assert first.tolist() == [4.0, np.float32(0.1)]


def test_another_process_finds_the_folder_with_the_same_bits(tmp_path):
    first = EmbeddingCache("m", tmp_path / "new" / "folder").get("levy", Model())
    model = Model()
    second = EmbeddingCache("m", tmp_path / "new" / "folder").get("levy", model)
    assert model.asked == []
    assert (second.dtype, second.tobytes()) == (first.dtype, first.tobytes())


def test_the_namespace_separates_models(tmp_path):
    EmbeddingCache("m1", tmp_path).get("levy", Model())
    model = Model()
    EmbeddingCache("m2", tmp_path).get("levy", model)
    # Joined without care these would share a key with ("m1", "levy").
    EmbeddingCache("m1l", tmp_path).get("evy", model)
    assert model.asked == ["levy", "evy"]


def test_a_damaged_file_is_computed_again(tmp_path):
    EmbeddingCache("m", tmp_path).get("levy", Model())
    [path] = tmp_path.rglob("*.npy")
    whole = path.read_bytes()
    huge = whole.replace(b"(2,)", b"(9" + b"9" * 14 + b",)")
    archive = b"PK\x05\x06" + bytes(18)
    for damage in (b"", whole[:20], whole[:-1], b"nonsense", b"PK\x03\x04cut", archive, huge):
        path.write_bytes(damage)
        model = Model()
        EmbeddingCache("m", tmp_path).get("levy", model)
        assert model.asked == ["levy"]
        assert path.read_bytes() == whole


def test_a_shared_vector_cannot_be_changed_and_the_authors_own_stays_theirs(tmp_path):
    own = np.array([1.0, 2.0])
    vector = EmbeddingCache("m", tmp_path).get("levy", lambda text: own)
    own[0] = 9.0
    assert vector.tolist() == [1.0, 2.0]
    for found in (vector, EmbeddingCache("m", tmp_path).get("levy", Model())):
        with pytest.raises(ValueError, match="read-only"):
            found[0] = 3.0


def test_a_model_that_fails_leaves_nothing_behind(tmp_path):
    def failing(text):
        raise TimeoutError("model is down")

    cache = EmbeddingCache("m", tmp_path)
    with pytest.raises(TimeoutError):
        cache.get("levy", failing)
    with pytest.raises(TypeError, match="numbers"):
        cache.get("levy", lambda text: [object()])
    assert list(tmp_path.rglob("*.npy")) == []
    assert cache.get("levy", Model()).tolist()[0] == 4.0


def test_any_text_has_a_key(tmp_path):
    cache = EmbeddingCache("m", tmp_path)
    for text in ("", "\ud800", "a\0b", "ל" * 5000):
        assert cache.get(text, Model())[0] == len(text)
