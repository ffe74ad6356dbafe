"""What a checkpoint's offsets belong to: topics, by an id that a new topic of the same name does not have.

<checkpoint>/sources.json   {"format": 1, "sources": {"likes": {"shop.likes": "kZ3Xq…"}}}
"""

from __future__ import annotations

import json

from millstream.errors import MillstreamError
from millstream.plan.connectors import ChecksWhatWasRead, HasIdentities
from millstream.plan.nodes import Source
from millstream.storage import CheckpointFolder

FORMAT = 1
MADE_ANEW = "what was read of the old one is in the checkpoint; a new checkpoint begins with the new one"


def check_identities(sources: tuple[Source, ...], folder: CheckpointFolder) -> None:
    """An error if a source reads something else under an old name: its offsets would mean other records."""
    saved = read(folder)
    now = dict(saved)
    for source in sources:
        if isinstance(source.options, HasIdentities):
            known, found = saved.get(source.name, {}), source.options.identities()
            for name, id_ in found.items():
                if known.get(name, id_) != id_:
                    raise created_again(source, name)
            now[source.name] = {**known, **found}
    if now != saved:
        folder.files.replace(folder.identities, json.dumps({"format": FORMAT, "sources": now}, indent=2))


def read(folder: CheckpointFolder) -> dict[str, dict[str, str]]:
    text = folder.files.read(folder.identities)
    if text is None:
        return {}
    try:
        found: dict[str, dict[str, str]] = json.loads(text)["sources"]
    except (ValueError, KeyError, TypeError):
        raise MillstreamError(
            "MS-CHECKPOINT-007",
            f"the checkpoint's file {folder.identities} is damaged.",
            found=repr(text[:20]),
            hint="delete it, if the sources were not deleted and created again since the last run",
        ) from None
    return found


def check_what_was_read(sources: tuple[Source, ...], folder: CheckpointFolder) -> None:
    """An error if what a source has read was changed after that."""
    for place, source in enumerate(sources):
        if isinstance(source.options, ChecksWhatWasRead):
            source.options.check_read(folder, place)


def created_again(source: Source, name: str) -> MillstreamError:
    return MillstreamError(
        "MS-SOURCE-007",
        f'source "{source.name}": "{name}" was deleted and created again since the checkpoint.',
        at=source.at,
        hint=MADE_ANEW,
    )
