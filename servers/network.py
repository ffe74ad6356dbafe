"""Addresses of this machine that can be cut off, as if a machine's network failed. Needs root, and Linux."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager


def can_be_cut() -> bool:
    return os.geteuid() == 0 and shutil.which("ip") is not None


@contextmanager
def cut_off(address: str) -> Iterator[None]:
    """Inside, nothing reaches `address`, one of 127.0.0.0/8. Existing connections stay, but go silent."""
    route("add", address)
    try:
        yield
    finally:
        route("del", address)


def route(change: str, address: str) -> None:
    subprocess.run(["ip", "route", change, "unreachable", f"{address}/32", "table", "local"], check=True)
