"""A debugger for users' code in a worker: it speaks over a socket with the terminal of `millstream replay --pdb`."""

from __future__ import annotations

import os
import pdb
import socket
import sys
from types import FrameType

ADDRESS = "MILLSTREAM_DEBUGGER"
"""In the environment: host and port of the terminal; if there is none, there is no debugger."""


def wanted() -> bool:
    return ADDRESS in os.environ


def opened() -> pdb.Pdb:
    host, _, port = os.environ[ADDRESS].rpartition(":")
    line = socket.create_connection((host, int(port)))
    told, said = line.makefile("r"), line.makefile("w")
    line.close()  # it ends with the files
    return pdb.Pdb(stdin=told, stdout=said, nosigint=True)


def stop(*_: object, **__: object) -> None:
    """What `breakpoint()` does."""
    caller: FrameType | None = sys._getframe(1)
    opened().set_trace(caller)


def post_mortem(error: BaseException) -> None:
    """Opens the debugger where the user's code has failed, if there is one."""
    if wanted() and error.__traceback__ is not None:
        debugger = opened()
        debugger.message(f"{type(error).__name__}: {error}")
        debugger.reset()
        debugger.interaction(None, error.__traceback__)


if wanted():
    sys.breakpointhook = stop
