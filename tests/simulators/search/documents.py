"""Documents of the search demo, and the source texts that they are cut from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tests.simulators.dice import Dice
from tests.simulators.search.model import PlantedDocument, Span
from tests.simulators.search.texts import Family, Section, families


@dataclass(frozen=True, slots=True)
class Collection:
    """All documents, and the source texts by their path below ``sources/``."""

    documents: tuple[PlantedDocument, ...]
    sources: Mapping[str, str]


def compose(dice: Dice) -> Collection:
    """Write a document for every section of every entity, with the wording that the dice choose."""
    documents: list[PlantedDocument] = []
    sources: dict[str, str] = {}
    for family in families():
        for entity in family.entities:
            source = f"{family.corpus}/{family.name}/{entity['key']}.md"
            name = _sentence(family.title, entity)
            text = f"# {name}\n"
            for section in family.sections:
                heading = section.title.format_map(entity)
                text += f"\n## {heading[:1].upper()}{heading[1:]}\n\n"
                body = _body(dice.scoped(family.name, entity["key"]), section, entity)
                span = Span(source, len(text), len(text) + len(body))
                text += f"{body}\n"
                documents.append(
                    PlantedDocument(
                        id=f"{family.prefix}-{entity['key']}-{section.key}",
                        corpus=family.corpus,
                        title=f"{name}: {heading}",
                        text=body,
                        span=span,
                        family=family.name,
                        entity=entity["key"],
                        section=section.key,
                        facts=_facts(family, section, entity),
                    )
                )
            sources[source] = text
    return Collection(tuple(documents), sources)


def _body(dice: Dice, section: Section, entity: Mapping[str, str]) -> str:
    return " ".join(
        _sentence(dice.choice(alternatives, section.key, place), entity)
        for place, alternatives in enumerate(section.sentences)
    )


def _sentence(pattern: str, entity: Mapping[str, str]) -> str:
    text = pattern.format_map(entity)
    return text[:1].upper() + text[1:]


def _facts(family: Family, section: Section, entity: Mapping[str, str]) -> dict[str, int]:
    own = {f"{family.name}.{entity['key']}.{fact}": n for fact, n in section.answers.items()}
    other = {pattern.format_map(entity): grade for pattern, grade in section.also.items()}
    # An entity may refer to no other; its fact then has a name without an entity or a fact.
    return {name: n for name, n in {**other, **own}.items() if _is_full(name)}


def _is_full(fact: str) -> bool:
    parts = fact.split(".", 2)
    return len(parts) == 3 and all(parts)
