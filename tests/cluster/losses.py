"""A job in real time that loses executors while likes come in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.cluster.drivers import Driver, until
from tests.cluster.likes import Likes


def goes_on(ran: Driver, likes: Likes, losses: list[Callable[[], None]]) -> None:
    """Likes come before and after each loss. In the end all of them count, and each once."""
    for number, lose in enumerate(losses):
        likes.send(range(10 + 30 * number, 30 + 30 * number))
        lose()
        likes.send(range(30 + 30 * number, 40 + 30 * number))
        until(lambda: likes.whole, ran)
    Path(likes.path).with_name("stop").touch()
    running, stopped = ran.lines()
    assert running == "running, pauses: None"
    assert stopped.startswith("stopped MS-RUN-0"), ran.stderr
    assert (likes.matches, likes.popular) == (likes.expected_matches, likes.expected_popular)
