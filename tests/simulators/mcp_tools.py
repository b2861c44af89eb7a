"""A code-search server's tools, in both generations of result, for both harnesses."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from tests.simulators.moves import Call, Deed, Touch
from tests.simulators.workspace import Workspace

Generation = Literal["old", "new", "openhands"]
_PREFIX = {"old": "mcp__sourcegraph__sg_", "new": "mcp__sourcegraph__", "openhands": ""}


class SearchTools:
    """Remote tools; ``generation`` decides tool names and the shape of results."""

    def __init__(self, workspace: Workspace, generation: Generation) -> None:
        self._space = workspace
        self._generation = generation

    def _call(
        self, tool: str, arguments: Mapping[str, Any], text: str, old: Any, deed: Deed
    ) -> Call:
        """Wrap a result the way this generation of the server and harness does."""
        call = Call(_PREFIX[self._generation] + tool, arguments, "", (deed,), is_mcp=True)
        if self._generation == "old":
            body = json.dumps(old, ensure_ascii=False, separators=(",", ":"))
            return replace(call, text=body, structured={"content": body})
        if self._generation == "new":
            body = json.dumps({"text": text}, ensure_ascii=False, separators=(",", ":"))
            structured = {"content": body, "structuredContent": {"text": text}}
            return replace(call, text=body, structured=structured)
        wrapped = {
            "meta": None,
            "content": [{"type": "text", "text": text, "annotations": None, "meta": None}],
            "structuredContent": {"text": text},
            "isError": False,
        }
        return replace(call, text=json.dumps(wrapped, ensure_ascii=False))

    def keyword(self, labels: list[str]) -> Call:
        """Search by keyword."""
        repository = self._space.remote(labels[0])[0]
        query = f"repo:^{repository}$ {self._space.topic}"
        return self._search("keyword_search", {"query": query}, labels, "code_search")

    def natural(self, labels: list[str]) -> Call:
        """Search by meaning."""
        repository = self._space.remote(labels[0])[0]
        query = f"repo:^{repository}$ where {self._space.topic} is handled"
        return self._search("nls_search", {"query": query}, labels, "code_search")

    def references(self, asked: str, labels: list[str]) -> Call:
        """Find references to a symbol defined in ``asked``; it may find nothing."""
        repository, path = self._space.remote(asked)
        arguments = {"repo": repository, "path": path, "symbol": self._space.topic}
        return self._search("find_references", arguments, labels, "symbol_navigation")

    def _search(
        self, tool: str, arguments: Mapping[str, Any], labels: list[str], category: str
    ) -> Call:
        shown, blocks, touches = [], [], []
        for label in labels:
            repository, path = self._space.remote(label)
            lines = self._space.lines(label)
            ranges = [(n, min(n + 2, len(lines))) for n in self._space.hits(label)]
            texts = ["\n".join(f"{n}: {lines[n - 1]}" for n in range(a, b + 1)) for a, b in ranges]
            shown.append(f"# {repository} – {path}\n" + "\n\n".join(texts))
            chunks = [
                {"content": text, "startLine": a, "endLine": b}
                for text, (a, b) in zip(texts, ranges, strict=True)
            ]
            url = self._space.url(label)
            blocks.append(
                {"chunks": chunks, "file": path, "repo": repository, "type": "file", "url": url}
            )
            touches.append(Touch(label, "matched", tuple(ranges)))
        text = "\n\n".join(shown) or "No results."
        return self._call(tool, arguments, text, {"blocks": blocks}, Deed(category, tuple(touches)))

    def listing(self, labels: list[str]) -> Call:
        """List the files of one folder; sub-folders are shown too and are no files."""
        repository, path = self._space.remote(labels[0])
        folder = path.rpartition("/")[0]
        names = [self._space.remote(label)[1] for label in labels]
        inner = f"{folder}/internal/" if folder else "internal/"
        entries = [{"isDirectory": True, "path": inner}]
        entries += [{"isDirectory": False, "path": name} for name in names]
        arguments = {"repo": repository} | ({"path": folder} if folder else {})
        deed = Deed("file_search", tuple(Touch(label, "listed") for label in labels))
        return self._call(
            "list_files", arguments, "\n".join([inner, *names]), {"files": entries}, deed
        )

    def read(self, label: str, span: tuple[int, int] | None) -> Call:
        """Read a file, whole or from a line to a line."""
        repository, path = self._space.remote(label)
        lines = self._space.lines(label)
        first, last = span or (1, len(lines))
        body = "\n".join(f"{n}: {lines[n - 1]}" for n in range(first, last + 1))
        arguments: dict[str, Any] = {"repo": repository, "path": path}
        suffix = ""
        if span:
            arguments |= {"startLine": first, "endLine": last}
            suffix = f"%3FL{first}-{last}"
        touch = Touch(label, "opened", (span,) if span else None, is_whole=span is None)
        text = f"URL: {self._space.url(label)}{suffix}\n{body}"
        return self._call(
            "read_file", arguments, text, {"content": body}, Deed("file_read", (touch,))
        )

    def failed_read(self, label: str) -> Call:
        """Fail to read: the repository's name lacks its revision."""
        repository, path = self._space.remote(label)
        name = repository.partition("--")[0]
        text = f'repository not found: repo not found: name="{name}"'
        call = Call(
            f"{_PREFIX[self._generation]}read_file",
            {"repo": name, "path": path},
            text,
            (Deed("file_read"),),
            f"Error: {text}",
            is_error=True,
            is_mcp=True,
        )
        if self._generation != "openhands":
            return call
        wrapped = {"meta": None, "content": [{"type": "text", "text": text}], "isError": True}
        return replace(call, text=json.dumps(wrapped), structured=None)
