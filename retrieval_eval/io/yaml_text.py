"""Writing YAML: the parameters that a page was made with, for papermill to read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def yaml_text(values: Mapping[str, Any]) -> str:
    """Return a mapping as YAML, in its order; invisible characters are escaped."""
    import yaml

    def dumped(*, is_readable: bool) -> str:
        options = {"sort_keys": False, "width": 4096, "allow_unicode": is_readable}
        return str(yaml.safe_dump(dict(values), **options))

    text = dumped(is_readable=True)
    return text if text.replace("\n", "").isprintable() else dumped(is_readable=False)
