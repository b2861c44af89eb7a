"""The verdict as JUnit XML: one test case a threshold."""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree as ET

from retrieval_eval.search.guard.table import HEAD, cells, excuse, method, remarks
from retrieval_eval.search.guard.verdict import Row, Verdict
from retrieval_eval.search.summary import points

SUITE: Final = "retrieval-guard"

# What XML 1.0 has no way to write, not even as a reference.
_ILLEGAL: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TAGS: Final = {"breach": "failure", "no_verdict": "error", "skipped": "skipped"}


def to_junit(verdict: Verdict) -> bytes:
    """Return the verdict as JUnit XML.

    A breach is a ``failure``, a threshold without verdict an ``error``, one that was not applied
    ``skipped``; an overridden one passes and says so in ``system-out``. Characters
    that XML cannot hold become U+FFFD.
    """
    tags = [_TAGS.get(row.verdict) for row in verdict.rows]
    suite = ET.Element(
        "testsuite",
        name=SUITE,
        tests=str(len(tags)),
        failures=str(tags.count("failure")),
        errors=str(tags.count("error")),
        skipped=str(tags.count("skipped")),
        time="0",
    )
    for row, tag in zip(verdict.rows, tags, strict=True):
        case = ET.SubElement(suite, "testcase", classname=SUITE, name=_legal(row.name), time="0")
        if tag is not None:
            message = "; ".join(row.reasons)
            found = ET.SubElement(case, tag, message=_legal(message))
            if tag != "skipped":
                found.set("type", row.verdict)
                found.text = _legal(_told(row))
        out = ET.SubElement(case, "system-out")
        out.text = _legal(_told(row))
    out = ET.SubElement(suite, "system-out")
    out.text = _legal("\n".join([verdict.headline, *remarks(verdict), method(verdict)]))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _told(row: Row) -> str:
    lines = [f"{name}: {cell}" for name, cell in zip(HEAD, cells(row), strict=True)]
    if row.justification is not None:
        lines.append(f"overridden: {excuse(row)}")
    lines += [f"{mover.id}: {points(mover.points)} points" for mover in row.movers]
    return "\n".join(lines)


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
