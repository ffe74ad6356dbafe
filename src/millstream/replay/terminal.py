"""This process's terminal, lent to debuggers in workers."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from millstream.spark.python.debugger import ADDRESS

CHUNK = 1 << 16
PROMPT = "(Pdb) "
ASKING = threading.Lock()


@contextmanager
def lent() -> Iterator[None]:
    """While this lasts, `breakpoint()` and errors in users' code open pdb here.

    Must begin before there is a JVM: workers inherit its environment.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        os.environ[ADDRESS] = f"127.0.0.1:{server.getsockname()[1]}"
        threading.Thread(target=serve, args=(server, sys.stdin, sys.stdout), daemon=True).start()
        try:
            yield
        finally:
            del os.environ[ADDRESS]


def serve(server: socket.socket, stdin: TextIO, stdout: TextIO) -> None:
    while True:
        try:
            line, _ = server.accept()
        except OSError:  # closed
            return
        # A debugger that continues does not hang up until Python frees it.
        threading.Thread(target=speak, args=(line, stdin, stdout), daemon=True).start()


def speak(line: socket.socket, stdin: TextIO, stdout: TextIO) -> None:
    """Shows what comes, and sends typed lines when asked, until the other side ends."""
    said = ""
    while data := line.recv(CHUNK):
        text = data.decode(errors="replace")
        said = (said + text)[-len(PROMPT) :]
        stdout.write(text)
        stdout.flush()
        if said == PROMPT:
            answer(line, stdin)


def answer(line: socket.socket, stdin: TextIO) -> None:
    """One asks at a time."""
    with ASKING:
        typed = stdin.readline()
    if typed:
        line.sendall(typed.encode())
    else:
        line.shutdown(socket.SHUT_WR)
