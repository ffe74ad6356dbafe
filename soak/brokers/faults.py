"""What can break: connections, servers, a disk, the job itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from soak.brokers.activemq import Artemis, Classic
from soak.brokers.broker import Broker
from soak.brokers.kinesis import Kinesis
from soak.brokers.load import Load
from soak.brokers.rabbitmq import Rabbit
from soak.brokers.sqs import Sqs
from soak.disk import Disk
from soak.kinds import Kind
from soak.process import JobProcess

BROKERS = (Rabbit, Classic, Artemis, Sqs, Kinesis)


@dataclass(frozen=True)
class World:
    brokers: dict[str, Broker]
    loads: dict[str, Load]
    disk: Disk | None
    job: JobProcess
    random: Random


def cut(title: str, world: World) -> None:
    """What was delivered and not acknowledged is delivered again."""
    way = world.brokers[title].way
    way.cut()
    way.mend()


def away(title: str, world: World) -> None:
    way = world.brokers[title].way
    way.cut()
    time.sleep(world.random.uniform(0.5, 3))
    way.mend()


def killed(title: str, world: World) -> None:
    broker = world.brokers[title]
    if not broker.settles:
        broker.restart()
        return
    broker.way.cut()  # the job writes to it, too
    with world.loads[title].paused():
        broker.restart()
    broker.way.mend()


def unsettled(title: str, world: World) -> None:
    world.brokers[title].unsettle()


def disk_full(world: World) -> None:
    assert world.disk is not None
    world.disk.fill()
    time.sleep(world.random.uniform(0.5, 3))
    world.disk.free()


def job_killed(world: World) -> None:
    world.job.kill()
    world.job.start()


def of_broker(title: str, unsettling: str) -> list[Kind[World]]:
    strikes: list[tuple[str, Callable[[str, World], None], int]] = [
        (f"connections to {title} cut", cut, 2),
        (f"{title} out of reach for up to 3 s", away, 1),
        (f"{title} killed and started again", killed, 2),
        (f"{title}: {unsettling}", unsettled, 1),
    ]
    return [Kind(name, partial(strike, title), share) for name, strike, share in strikes]


KINDS: tuple[Kind[World], ...] = (
    *(kind for broker in BROKERS for kind in of_broker(broker.title, broker.unsettling)),
    Kind("disk of the checkpoint full for up to 3 s", disk_full, 2, as_root=True),
    Kind("job killed and started again", job_killed, 1, ends_job=True),
)
