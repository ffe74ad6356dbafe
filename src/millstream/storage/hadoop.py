"""Addresses as Hadoop takes them."""

from __future__ import annotations

from millstream.storage.files import absolute


def for_hadoop(path: str) -> str:
    """A folder of this machine with its scheme: without one, it is a folder of HDFS where that is Hadoop's default, as
    on most clusters. Not as a URI: Hadoop decodes nothing."""
    found = absolute(path)
    return found if "://" in found else f"file://{found}"
