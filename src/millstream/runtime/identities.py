"""What a checkpoint's offsets are of: topics by an id that a new one of the same name does not have.

<checkpoint>/sources.json   {"format": 1, "sources": {"likes": {"shop.likes": "kZ3Xq…"}}}
"""

from __future__ import annotations

import json
from pathlib import Path

from millstream.errors import MillstreamError
from millstream.journal.durable import replace_text
from millstream.plan.connectors import HasIdentities
from millstream.plan.nodes import Source

FORMAT = 1


def check_identities(sources: tuple[Source, ...], folder: Path) -> None:
    """An error if a source reads something else under an old name: its offsets would mean other records."""
    file = folder / "sources.json"
    saved = read(file) if file.exists() else {}
    now = dict(saved)
    for source in sources:
        if isinstance(source.options, HasIdentities):
            known, found = saved.get(source.name, {}), source.options.identities()
            for name, id_ in found.items():
                if known.get(name, id_) != id_:
                    raise made_anew(source, name)
            now[source.name] = {**known, **found}
    if now != saved:
        replace_text(file, json.dumps({"format": FORMAT, "sources": now}, indent=2))


def read(file: Path) -> dict[str, dict[str, str]]:
    text = file.read_text()
    try:
        found: dict[str, dict[str, str]] = json.loads(text)["sources"]
    except (ValueError, KeyError, TypeError):
        raise MillstreamError(
            "MS-CHECKPOINT-007",
            f"the checkpoint's file {file} is damaged.",
            found=repr(text[:20]),
            hint="delete it, if the sources were not deleted and made anew since the last run",
        ) from None
    return found


def refuse_made_anew(found: tuple[Source, str] | None) -> None:
    """The same while a job runs: the query tells what it has met."""
    if found is not None:
        raise made_anew(*found)


def made_anew(source: Source, name: str) -> MillstreamError:
    return MillstreamError(
        "MS-SOURCE-007",
        f'source "{source.name}": "{name}" was deleted and made anew since the checkpoint.',
        at=source.at,
        hint="what was read of the old one is in the checkpoint; a new checkpoint begins with the new one",
    )
