"""Names of users' things as names of files."""

from __future__ import annotations

import hashlib
import re


def file_name(name: str) -> str:
    """The same name, if a file, and a topic, can have it."""
    plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
    if plain == name and not name.startswith("."):
        return name
    return f"_{plain}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"
