"""Options for a sink that keeps nothing."""

from __future__ import annotations

from millstream.connectors.blackhole.sink import BlackholeSink


def sink(*, changelog: bool = False) -> BlackholeSink:
    """Drops all rows. A job that writes to it has no other sink."""
    return BlackholeSink(changelog)
