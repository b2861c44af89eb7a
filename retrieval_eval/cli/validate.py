"""``retrieval-eval validate``: validate artefacts against their JSON Schemas."""

from __future__ import annotations

from pathlib import Path

import click

from retrieval_eval.cli.common import EXIT_BAD_INPUT, PATH, echo, json_option, print_json
from retrieval_eval.errors import BadInputError, SchemaError
from retrieval_eval.io.artefacts import DAMAGED, DIGEST, is_whole
from retrieval_eval.io.files import read_json
from retrieval_eval.schema import SCHEMAS, check_version, faults, kind_of

_MOST_FAULTS = 20


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=PATH)
@click.option("--kind", type=click.Choice(sorted(SCHEMAS)), help="Default: found from the content.")
@json_option
@click.pass_context
def validate(
    context: click.Context, files: tuple[Path, ...], kind: str | None, as_json: bool
) -> None:
    """Validate artefacts: any 1.x version is accepted, other major versions are rejected.

    Each fault is named by file and JSON pointer. Exit code 3 when there is one.
    """
    found = {str(path): _problems(path, kind) for path in files}
    if as_json:
        print_json(
            {name: {"valid": not problems, "faults": problems} for name, problems in found.items()}
        )
    else:
        for name, problems in found.items():
            for problem in problems[:_MOST_FAULTS]:
                echo(f"{name}: {problem}")
            if len(problems) > _MOST_FAULTS:
                echo(f"{name}: and {len(problems) - _MOST_FAULTS} more")
            if not problems:
                echo(f"{name}: valid")
    if any(found.values()):
        context.exit(EXIT_BAD_INPUT)


def _problems(path: Path, kind: str | None) -> list[str]:
    if not path.is_file():
        raise BadInputError(f"{path}: no such file")
    document = read_json(path, path.parent)
    if document.problem is not None:
        return [document.problem.removeprefix(f"{path.name}: ")]
    kind = kind or kind_of(document.value)
    if kind is None:
        return [f"/: not a file this tool writes (kinds: {', '.join(sorted(SCHEMAS))})"]
    try:
        check_version(document.value, "document")
    except SchemaError as error:
        return [str(error)]
    found = [str(fault) for fault in faults(document.value, kind)]
    if is_whole(document.value) is False:
        found.append(f"/{DIGEST}: does not fit the rest: {DAMAGED}")
    return found
