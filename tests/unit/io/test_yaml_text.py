from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from retrieval_eval.io.files import yaml_text

plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
scalars = plain | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)


@given(st.dictionaries(plain, scalars | st.lists(scalars)))
def test_what_is_written_is_read_again(values):
    assert yaml.safe_load(yaml_text(values)) == values
