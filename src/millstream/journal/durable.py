"""What is written here is there after a power cut: the old or the new, and never a part of it."""

from __future__ import annotations

import os
from pathlib import Path


def replace_text(file: Path, text: str) -> None:
    """Written under another name, synced, and renamed."""
    part = file.with_name(f"{file.name}.part")
    with part.open("w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    part.replace(file)
    sync_folder(file.parent)


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable."""
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
