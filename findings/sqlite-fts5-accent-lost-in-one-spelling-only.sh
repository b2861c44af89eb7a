#!/usr/bin/env bash
# Unicode writes an accented letter as one character or as a letter and a mark (file names of a Mac,
# text from PDF files). SQLite FTS5 drops a separate mark, and replaces the single character by its
# plain letter for Latin only. So the French or Czech word is found in both spellings, and the
# Greek, Russian or Korean one only in the spelling of the document, with remove_diacritics=2 too.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install -q --no-compile apsw==3.54.1.0
cat > "$work/see.py" <<'PY'
from unicodedata import normalize

import apsw

WORDS = {
    "French": "café",
    "Czech": "příliš",
    "Vietnamese": "Việt",
    "Greek": "ένα",
    "Russian": "чёрный",
    "Arabic": "أحمد",
    "Korean": "한국",
    "Japanese": "ガイド",
}


def found(document, query, removal):
    database = apsw.Connection(":memory:")
    database.execute(
        f"create virtual table t using fts5(x, tokenize='unicode61 remove_diacritics {removal}')"
    )
    database.execute("insert into t values (?)", (document,))
    return bool(list(database.execute("select 1 from t where t match ?", (f'"{query}"',))))


print("SQLite", apsw.sqlite_lib_version())
print("expected: tokens without marks, so both spellings of a word (NFC, NFD) find each other")
seen = {}
for removal in (1, 2):
    for language, word in WORDS.items():
        composed, separate = normalize("NFC", word), normalize("NFD", word)
        assert found(composed, composed, removal) and found(separate, separate, removal)
        both = found(composed, separate, removal), found(separate, composed, removal)
        assert both[0] == both[1], "changed"
        seen[removal, language] = both[0]
    lost = [language for language in WORDS if not seen[removal, language]]
    print(f"seen:     remove_diacritics={removal}: the other spelling does not find", lost)
always = ["Greek", "Russian", "Arabic", "Korean", "Japanese"]
assert [name for name in WORDS if not seen[1, name]] == ["Vietnamese", *always], "changed"
assert [name for name in WORDS if not seen[2, name]] == always, "changed"
PY
cd "$work"
export HOME="$work"
timeout 100 unshare -rn venv/bin/python see.py
