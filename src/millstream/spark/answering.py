"""Whether a server of a cluster can be reached at all: Spark's clients try for minutes before they say so."""

from __future__ import annotations

import socket

from millstream.errors import MillstreamError
from millstream.plan.errors import here

SECONDS = 5


def refuse_silent(what: str, addresses: list[tuple[str, int]]) -> None:
    """An error if none of them accepts a connection."""
    errors = [error for error in map(unreached, addresses) if error is not None]
    if addresses and len(errors) == len(addresses):
        raise MillstreamError(
            "MS-CLUSTER-008",
            f"{what} does not answer.",
            at=here(),
            found="; ".join(errors),
            hint="is it running, and is this machine in its network?",
        )


def unreached(address: tuple[str, int]) -> str | None:
    host, port = address
    try:
        socket.create_connection(address, SECONDS).close()
    except OSError as error:
        return f"{host}:{port}: {error.strerror or error}"
    return None
