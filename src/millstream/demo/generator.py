"""Sends likes at a steady rate, in its own process, so that nothing else in the demo disturbs its clock:

    python -m millstream.demo.generator JOURNAL RATE

It prints to stdout how many it has sent, and ends when its stdin does: it cannot outlive the demo.
"""

from __future__ import annotations

import select
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from millstream import journal
from millstream.demo.people import People
from millstream.errors import MillstreamError

TICK = 0.005
TELL = 0.1


def send(path: str, rate: float) -> None:
    people = People()
    sent, begun, told = 0, time.monotonic(), 0.0
    with journal.producer(path, "likes") as likes:
        while not ended():
            now = time.monotonic() - begun
            while sent < now * rate:
                liker, liked = people.like(now)
                clock = time.time_ns()
                at = datetime.fromtimestamp(clock / 1e9, UTC)
                likes.send({"liker": liker, "liked": liked, "at": at, "sent": clock // 1_000_000}, key=liker)
                sent += 1
            likes.flush()
            if now - told >= TELL:
                print(sent, flush=True)
                told = now
            time.sleep(TICK)
    print(sent, flush=True)


def ended() -> bool:
    """Nothing is ever written to our stdin: when there is something to read, it is its end."""
    return bool(select.select([sys.stdin], [], [], 0)[0])


class Generator:
    """The process, from the demo's side."""

    def __init__(self, path: Path, rate: float) -> None:
        self.sent = 0
        command = [sys.executable, "-m", "millstream.demo.generator", str(path), str(rate)]
        # Its own session: a Ctrl-C is for the demo, which then ends it in good order.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.sent = int(line)

    def check(self) -> None:
        """An error if it died."""
        if self._process.poll():
            assert self._process.stderr is not None
            said = self._process.stderr.read().strip().split("\n")[-1]
            raise MillstreamError("MS-DEMO-002", "the process that sends likes died.", found=said)

    def stop(self) -> int:
        """Ends it; how many likes it sent."""
        self.close()
        self.check()
        return self.sent

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._listener.join()


if __name__ == "__main__":
    send(sys.argv[1], float(sys.argv[2]))
