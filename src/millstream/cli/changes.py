"""What happens to saved state, as a table for users and as JSON for scripts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream.runtime.savepoints.matching import Change

INCOMPATIBLE = 1
"""The exit code if the job could not continue."""


def listed(changes: Sequence[Change]) -> list[dict[str, Any]]:
    return [
        {"what": one.what, "name": one.name, "was": one.before, "state": one.fate.value, "why": one.why}
        for one in changes
    ]


def shown(changes: Sequence[dict[str, Any]]) -> str:
    rows = [("", "name", "state", "")]
    rows += [(one["what"], named(one), one["state"], one["why"] or "") for one in changes]
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return "\n".join(
        "  ".join([*(part.ljust(width) for part, width in zip(row, widths, strict=False)), row[3]]).rstrip()
        for row in rows
    )


def named(one: dict[str, Any]) -> str:
    return f"{one['name']} (was {one['was']})" if one["was"] else str(one["name"])


def as_json(changes: Sequence[Change]) -> str:
    return json.dumps({"compatible": all(one.allowed for one in changes), "changes": listed(changes)}, indent=2)
