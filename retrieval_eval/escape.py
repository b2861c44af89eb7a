"""Untrusted text made safe to show: task names, paths and messages of agents.

Everything that comes from a trace or a run tree passes one of these functions on its way into a
page. They never raise, whatever the text holds.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

_MARKDOWN: Final = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~$^@&:\"'=/])")
_TYPST: Final = re.compile(r"[{}`]")
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters, marks and a sign that are invisible: fillers, joiners, variation selectors, blank
# braille.
_BLANK: Final = frozenset(
    chr(code)
    for first, last in (
        *((c, c) for c in (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0)),
        *((0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF)),
    )
    for code in range(first, last + 1)
)


def visible(text: object, limit: int | None = None) -> str:
    r"""Return ``text`` on one line, with every invisible character made visible.

    Control characters, direction overrides, zero-width characters and lone surrogates become
    ``\u....`` escapes, because they can make a name look like another one. Runs of white space
    become one space. With ``limit`` the middle is cut out, as file names differ at both ends.

    Examples
    --------
    >>> visible("a\tb\u202ec")
    'a b\\u202ec'
    >>> visible("src/very/long/name.py", limit=11)
    'src/v…me.py'
    """
    shown = made_visible(" ".join(str(text).split()))
    return shorten(shown, limit) if limit else shown


def made_visible(text: str, escape: Callable[[str], str] | None = None) -> str:
    r"""Return ``text`` with an escape for every character that is invisible or a control.

    Line ends and tabs are among them; only the plain space is not. ``escape`` returns the escape
    of a character, by default ``\u....``.

    Examples
    --------
    >>> made_visible("a  b\x1b[2J\n")
    'a  b\\u001b[2J\\u000a'
    """
    if text.isascii() and text.isprintable():
        return text
    escape = escape or (lambda c: f"\\u{ord(c):04x}")
    return "".join(
        escape(c) if c in _BLANK or unicodedata.category(c) in _HIDDEN else c for c in text
    )


def json_escape(character: str) -> str:
    r"""Return a character as JSON escapes it.

    Examples
    --------
    >>> json_escape("\u202e")
    '\\u202e'
    """
    return json.dumps(character)[1:-1]


def shorten(text: str, limit: int) -> str:
    """Return ``text`` with its middle replaced by ``…`` when it is longer than ``limit``."""
    if len(text) <= limit:
        return text
    head = limit // 2
    tail = limit - head - 1
    return text[:head] + "…" + (text[-tail:] if tail else "")


def html_text(text: object) -> str:
    """Return ``text`` for an HTML text node or a quoted attribute.

    Examples
    --------
    >>> html_text('<script>"x"')
    '&lt;script&gt;&quot;x&quot;'
    """
    return html.escape(visible(text), quote=True)


def html_lines(text: str) -> str:
    """Return ``text`` for the inside of a ``<pre>``: as :func:`html_text`, its lines and gaps kept.

    Examples
    --------
    >>> html_lines("a  <b>")
    'a  &lt;b&gt;'
    """
    return "\n".join(html.escape(made_visible(line)) for line in text.expandtabs().split("\n"))


def markdown_text(text: object) -> str:
    r"""Return ``text`` for a Markdown paragraph or table cell, free of any markup.

    Every ASCII punctuation character that Markdown, Pandoc or Quarto (short codes, citations,
    divisions) gives a meaning is escaped with a backslash.

    Examples
    --------
    >>> markdown_text("a|b <i>")
    'a\\|b \\<i\\>'
    """
    return _MARKDOWN.sub(r"\\\1", visible(text))


def typst_string(text: str) -> str:
    r"""Return ``text`` as a string literal of typst, in which nothing is markup.

    Braces and backticks are escaped too: Quarto looks for short codes and fences in all text.

    Examples
    --------
    >>> typst_string('= "a" {{<')
    '"= \\"a\\" \\u{7b}\\u{7b}<"'
    """
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + _TYPST.sub(lambda c: f"\\u{{{ord(c[0]):x}}}", quoted) + '"'


def raw_block(syntax: str, text: str) -> str:
    r"""Return text of another syntax as a raw block of Pandoc's Markdown.

    The fence is longer than any row of backticks in the text, so that nothing in it can end it.

    Examples
    --------
    >>> raw_block("html", "<p>a</p>")
    '```{=html}\n<p>a</p>\n```'
    """
    longest = max((len(row) for row in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{{={syntax}}}\n{text}\n{fence}"


def slug(text: object) -> str:
    """Return ``text`` as a safe file or element name of at most 120 characters and 240 bytes.

    Examples
    --------
    >>> slug("../a b/ß")
    'a_b_ß'
    """
    name = re.sub(r"[^\w+.@-]+", "_", visible(text)).strip("._")[:120]
    return name.encode()[:240].decode(errors="ignore") or "run"


def encodable(value: Any) -> Any:
    r"""Return text that pandas can group by: half of a surrogate pair is written as its escape.

    Lists of texts too; anything else is returned as it is.

    Examples
    --------
    >>> encodable("a\ud800"), encodable(["b", None])
    ('a\\ud800', ['b', None])
    """
    if isinstance(value, list):
        with suppress(TypeError):  # of what is no text
            if "".join(value).isascii():
                return value
        return [encodable(item) for item in value]
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value
