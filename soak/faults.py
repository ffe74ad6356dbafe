"""What is broken, and repaired: each kind is a function of what there is to break."""

from __future__ import annotations

import time
from dataclasses import dataclass
from random import Random

from servers.kafka import Kafka
from servers.postgres import Postgres
from servers.proxy import Proxy
from soak.disk import Disk
from soak.kinds import Kind
from soak.process import JobProcess

NOTICED = 4
"""Seconds after which a connection that is silently gone is given up, as the job's address says."""


@dataclass(frozen=True)
class World:
    kafka: Kafka
    to_kafka: Proxy
    postgres: Postgres
    to_postgres: Proxy
    disk: Disk | None
    job: JobProcess
    random: Random


def cut(way: Proxy, seconds: float) -> None:
    way.cut()
    time.sleep(seconds)
    way.mend()


def kafka_cut(world: World) -> None:
    cut(world.to_kafka, 0)


def kafka_away(world: World) -> None:
    cut(world.to_kafka, world.random.uniform(0.5, 3))


def kafka_restarted(world: World) -> None:
    world.kafka.restart()


def postgres_cut(world: World) -> None:
    cut(world.to_postgres, 0)


def postgres_away(world: World) -> None:
    cut(world.to_postgres, world.random.uniform(0.5, 3))


def postgres_silent(world: World) -> None:
    """Neither side learns of it: existing connections go silent. Epochs go on until that is noticed."""
    world.to_postgres.swallow()
    time.sleep(world.random.uniform(0.5, 3))
    world.to_postgres.mend()
    time.sleep(NOTICED)


def postgres_restarted(world: World) -> None:
    world.postgres.restart()


def disk_full(world: World) -> None:
    assert world.disk is not None
    world.disk.fill()
    time.sleep(world.random.uniform(0.5, 3))
    world.disk.free()


def killed(world: World) -> None:
    world.job.kill()
    world.job.start()


KINDS: tuple[Kind[World], ...] = (
    Kind("connections to Kafka cut", kafka_cut, 5),
    Kind("Kafka out of reach for up to 3 s", kafka_away, 4),
    Kind("broker killed and started again", kafka_restarted, 2),
    Kind("connections to Postgres cut", postgres_cut, 4),
    Kind("connections to Postgres silently gone", postgres_silent, 1),
    Kind("Postgres out of reach for up to 3 s", postgres_away, 3),
    Kind("Postgres killed and started again", postgres_restarted, 3),
    Kind("disk of the checkpoint full for up to 3 s", disk_full, 2, as_root=True),
    Kind("job killed and started again", killed, 1, ends_job=True),
)
