"""Tables of tidy frames, one a module: whatever lies in this folder is found by its name."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

for _found in iter_modules(__path__):
    import_module(f"{__name__}.{_found.name}")
