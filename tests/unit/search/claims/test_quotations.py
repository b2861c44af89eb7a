from __future__ import annotations

import pytest

from retrieval_eval.search.claims.splitting import find_quote

TEXT = (
    "Copies are kept for 30\u00a0days, never for 130 days. The \u201cvault\u201d isn\u2019t open; "
    "the de\u00adfault is a well-\nknown **work\ufb02ow** of 2024-01-02 at 99.5 % or 10\u201320 "
    "hours."
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("copies ARE  kept\nfor 30 days", "Copies are kept for 30\u00a0days"),
        (
            "\u00abCopies are kept for 30 days, never\u2026\u00bb",
            "Copies are kept for 30\u00a0days, never",
        ),
        ('The "vault" isn\'t open', "The \u201cvault\u201d isn\u2019t open"),
        (
            "the default is a wellknown workflow",
            "the de\u00adfault is a well-\nknown **work\ufb02ow",
        ),
        ("a well-known workflow of 2024", None),
        (
            "copies are [...] never for 130 days",
            "Copies are kept for 30\u00a0days, never for 130 days",
        ),
        ("at 99.5 % or 10-20 hours.", "at 99.5 % or 10\u201320 hours"),
        ("0 days", None),
        ("5 % or", None),
        ("30", "30"),
        ("20 hours", None),
        ("opie", None),
        ("the", None),
        ("is a", None),
        ("", None),
        ("\u2026", None),
        ("never \u2026 130 days", None),
        ("130 days \u2026 are kept for", None),
    ],
)
def test_a_quotation_is_found_as_it_was_copied_and_in_no_part_of_a_word_or_number(quote, found):
    span = find_quote(quote, TEXT)
    assert (None if span is None else TEXT[slice(*span)]) == found


def test_an_ellipsis_leaves_out_no_chapter():
    far = f"It is kept {'and so on ' * 60}for 30 days."
    assert find_quote("It is kept ... for 30 days", far) is None
    near = far.replace("and so on " * 50, "")
    assert find_quote("It is kept ... for 30 days", near) == (0, len(near) - 1)
