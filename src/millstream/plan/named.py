"""Columns that users name."""

from __future__ import annotations

from millstream.errors import did_you_mean
from millstream.plan.errors import Step
from millstream.plan.expressions import same


def known(name: str, names: list[str], step: Step) -> str:
    found = [other for other in names if same(other, name)]
    if found:
        return found[0]
    raise step.error(
        "MS-EXPR-002",
        f"uses {name}, which its input does not have.",
        found="columns: " + ", ".join(names),
        hint=did_you_mean(name, names),
    )
