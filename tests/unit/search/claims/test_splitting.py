from __future__ import annotations

import pytest

from retrieval_eval.search.claims.splitting import split_claims


def texts(draft: str) -> list[str]:
    return [claim.text for claim in split_claims(draft)]


def substantive(draft: str) -> list[str]:
    return [claim.text for claim in split_claims(draft) if claim.is_substantive]


@pytest.mark.parametrize(
    ("draft", "claims"),
    [
        ("It is fast. It is safe.", ["It is fast.", "It is safe."]),
        ("It is fast; it is safe.", ["It is fast", "it is safe."]),
        (
            "- The port is 443.\n- The agent is free.\n\n1. It starts at noon",
            ["The port is 443.", "The agent is free.", "It starts at noon"],
        ),
        (
            "First line\nof a paragraph.\n## Ports\nThe port is 443.\n---\n* TLS",
            ["First line of a paragraph.", "Ports", "The port is 443.", "TLS"],
        ),
        ("Does it run? Yes, etc. It runs.", ["Does it run?", "Yes, etc.", "It runs."]),
    ],
)
def test_sentences_and_list_items_are_claims(draft, claims):
    assert texts(draft) == claims


@pytest.mark.parametrize(
    "draft",
    [
        "Availability is 99.9 % since version 7.0.1 of the agent.",
        "Use a hardware key, e.g. a YubiKey, for logins.",
        "Mr. Example of Example Inc. signed it.",
        "The guide is at https://a.example/x.y?q=1;2,3 today.",
        "Item No. 5 of sec. 3 applies.",
        "It runs between 9 and 17 o'clock.",
        "It needs a key or a password and a token.",
        "We hold SOC 2 Type II and ISO 27001, audited annually by a Big Four firm",
        "It encrypts data and keeps 14 daily, 8 weekly and 6 monthly copies.",
        "Our terms and conditions apply.",
        "It keeps copies (daily, weekly and monthly) on disk.",
        "This is a sentence without any end",
    ],
)
def test_what_is_one_claim_stays_whole(draft):
    assert texts(draft) == [draft]


@pytest.mark.parametrize(
    "draft",
    [
        "Dear customer,",
        "Thank you for your question.",
        "Please contact us for details.",
        "Kind regards,\nThe team",
        "Is it encrypted, and is it signed?",
        "# Ports and accounts of the agent",
        "These are the ports:",
        "I could not find an answer in the documents.",
        "It depends.",
        "Here is what we know.",
        "We hope this helps!",
        "Do not hesitate to contact us.",
        "Yes.",
        "...",
    ],
)
def test_talk_is_not_substantive(draft):
    assert substantive(draft) == []


@pytest.mark.parametrize(
    "draft",
    [
        "Please note that backups are encrypted.",
        "Hello, backups are encrypted.",
        "Here are 3 regions.",
        "30 days.",
        "An assistant manager approves requests.",
        "We do not know your password.",
        "Thank you for asking, we hold ISO 27001.",
    ],
)
def test_a_claim_in_polite_words_is_substantive(draft):
    assert substantive(draft)


def test_a_greeting_line_does_not_hide_the_claim_behind_it():
    assert substantive("Dear customer,\nWe hold ISO 27001.") == ["We hold ISO 27001."]


@pytest.mark.parametrize(
    "marker",
    ["[1]", "[1, 2]", "[^3]", "[source: the handbook]", "[pd-linux-card]", "(source: handbook)"],
)
def test_citation_markers_are_no_text(marker):
    assert texts(f"The port is 443 {marker}.") == ["The port is 443."]


def test_marks_of_emphasis_and_links_go_and_their_text_stays():
    assert texts("The **port** is [`443`](https://a.example/ports).") == ["The port is [ 443."]


def test_spans_are_places_in_the_draft_and_not_in_the_text_without_markers():
    draft = "- It is safe [1].\n- It is **fast** [2]."
    claims = split_claims(draft)
    assert [draft[a:b] for a, b in (claim.span for claim in claims)] == [
        "It is safe [1].",
        "It is **fast** [2].",
    ]
    assert [claim.text for claim in claims] == ["It is safe.", "It is fast."]
