"""The order of the kernels' rooms: what each Java package may import from the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[1] / "kernels" / "millstream"

OPERATOR = {"metrics", "operator", "row", "state"}
"""What every room of operators builds on."""

MAY_IMPORT: dict[str, set[str]] = {
    "metrics": set(),
    "row": {"metrics"},
    "state": {"metrics", "row"},
    "operator": {"metrics", "row", "state"},
    "aggregate": OPERATOR,
    "join": OPERATOR,
    "process": {*OPERATOR, "python"},
    "rank": OPERATOR,
    "table": OPERATOR,
    "window": {*OPERATOR, "aggregate"},
    "stage": {*OPERATOR, "aggregate", "barrier", "join", "process", "python", "rank", "table", "window"},
    "time": {"barrier", "commit", "source", "stage"},
    "avro": set(),
    "barrier": {"checkpoint", "faults", "metrics"},
    "call": {"barrier", "metrics", "python", "row"},
    "checkpoint": {"journal"},
    "commit": {"faults", "journal"},
    "decode": {"avro", "metrics", "protobuf", "row"},
    "faults": {"checkpoint"},
    "journal": {"source"},
    "kafka": {"faults", "journal", "sink", "source"},
    "lookup": set(),
    "parquet": {"journal"},
    "protobuf": set(),
    "python": {"barrier"},
    "rabbitmq": {"journal", "source"},
    "rules": {"barrier", "stage"},
    "save": {"journal", "parquet", "row", "source"},
    "sink": {"avro", "barrier", "checkpoint", "commit", "faults", "journal", "metrics", "parquet", "protobuf"},
    "source": set(),
    "testing": {"sink"},
}

NAMED = re.compile(r"\bmillstream\.([a-z]\w*)\.[A-Z]")
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"', re.DOTALL)


def named(file: Path) -> Iterator[tuple[str, str]]:
    """The rooms that a file names, by an import or in mid-code, and where."""
    # Lines stay where they are.
    code = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), file.read_text())
    for number, line in enumerate(code.splitlines(), start=1):
        for room in NAMED.findall(line):
            yield room, f"{file.relative_to(KERNELS)}:{number} names {room}"


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_a_room_imports_only_what_it_stands_on(room: str) -> None:
    allowed = {room, *MAY_IMPORT[room]}
    files = sorted((KERNELS / room).glob("*.java"))
    assert files
    assert [place for file in files for other, place in named(file) if other not in allowed] == []


def test_the_rooms_are_those_that_are_checked() -> None:
    """A new room must be put in its place here, and a file stands in a room."""
    assert {file.relative_to(KERNELS).parent.as_posix() for file in KERNELS.rglob("*.java")} == set(MAY_IMPORT)


def test_no_circle_of_rooms() -> None:
    left = dict(MAY_IMPORT)
    while free := [room for room, others in left.items() if not others & left.keys()]:
        for room in free:
            del left[room]
    assert left == {}
