"""The folder of one run: who has it, how it goes, its orders, and how it ended.

driver ── claim, status, epochs, samples, exit ──▶ folder ◀── order ── manager
                                                     ▲
                                                     └─ cluster: what it says of a driver that it runs
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Lines = list[dict[str, Any]]
MOST_BYTES = 4_000_000
"""A longer history continues in a new file; the one before it stays."""


class RunFolder:
    """Files are replaced or appended to, never changed: a reader sees one state or the next."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.log = path / "driver.log"
        self.plan = path / "plan.json"
        self.epochs = path / "epochs.jsonl"
        self.samples = path / "samples.jsonl"
        self.checkpoints = path / "checkpoints.json"
        self.rows = path / "rows.json"

    def make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)

    def claim(self, who: dict[str, Any]) -> bool:
        """Whether the run is the caller's now. Only the first caller gets it: a driver that comes late, or twice, finds
        it taken."""
        own = self.path / f"claim.{secrets.token_hex(4)}"
        own.write_text(json.dumps(who))
        try:
            os.link(own, self.path / "claim.json")
        except FileExistsError:
            return False
        finally:
            own.unlink()
        return True

    def claimed(self) -> dict[str, Any] | None:
        return read(self.path / "claim.json")

    def beat(self, status: dict[str, Any]) -> None:
        replace(self.path / "status.json", status)

    def status(self) -> dict[str, Any] | None:
        return read(self.path / "status.json")

    def order(self, word: str) -> None:
        """Tells the driver to `stop` or to `cancel`."""
        replace(self.path / "order.json", {"order": word})

    def ordered(self) -> str | None:
        found = read(self.path / "order.json")
        return None if found is None else str(found["order"])

    def say_of_cluster(self, told: dict[str, Any]) -> None:
        replace(self.path / "cluster.json", told)

    def said_of_cluster(self) -> dict[str, Any] | None:
        """None: the driver runs where it was started."""
        return read(self.path / "cluster.json")

    def end(self, told: dict[str, Any]) -> None:
        replace(self.path / "exit.json", told)

    def ended(self) -> dict[str, Any] | None:
        return read(self.path / "exit.json")


def replace(file: Path, content: dict[str, Any]) -> None:
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    new.write_text(json.dumps(content))
    os.replace(new, file)


def read(file: Path) -> dict[str, Any] | None:
    try:
        found: dict[str, Any] = json.loads(file.read_bytes())
    except FileNotFoundError:
        return None
    return found


def append(file: Path, lines: Iterable[dict[str, Any]]) -> None:
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    if not text:
        return
    if file.exists() and file.stat().st_size > MOST_BYTES:
        os.replace(file, before(file))
    with file.open("a") as open_file:
        open_file.write(text)


def before(file: Path) -> Path:
    """Where the older half of a history is."""
    return file.with_name(f"{file.name}.before")


def newest(file: Path, most: int) -> Lines:
    """The last lines of a history, newest first, read from its end."""
    found: Lines = []
    for part in (file, before(file)):
        for line in backwards(part):
            if len(found) >= most:
                return found
            found.append(json.loads(line))
    return found


def backwards(file: Path, block: int = 65_536) -> Iterator[bytes]:
    """Whole lines from the last to the first. One that is just being written is left out."""
    try:
        source = file.open("rb")
    except FileNotFoundError:
        return
    with source:
        at = source.seek(0, os.SEEK_END)
        rest = b""
        while at > 0:
            size = min(block, at)
            at -= size
            source.seek(at)
            lines = (source.read(size) + rest).split(b"\n")
            rest = lines[0]
            yield from reversed([line for line in lines[1:] if line.endswith(b"}")])
        if rest.endswith(b"}"):
            yield rest
