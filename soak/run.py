"""A soak from its beginning to its end."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import psycopg
from confluent_kafka.admin import AdminClient, NewTopic

from servers import kafka, postgres
from servers.proxy import Proxy
from soak.disk import mounted
from soak.faults import Kind, World, order
from soak.job import Places
from soak.judge import Verdict, verdicts
from soak.load import Load
from soak.process import PATIENCE, JobProcess
from soak.report import Struck

TABLES = """
CREATE TABLE customers (id INT PRIMARY KEY, name TEXT);
CREATE TABLE named (customer INT, id INT, name TEXT, orders BIGINT, total BIGINT, PRIMARY KEY (customer));
CREATE TABLE millstream_epochs (sink TEXT PRIMARY KEY, epoch BIGINT NOT NULL);
CREATE PUBLICATION customers FOR TABLE customers;
CREATE ROLE soak LOGIN REPLICATION;
GRANT SELECT ON customers TO soak;
GRANT SELECT, INSERT, UPDATE, DELETE ON named TO soak;
GRANT SELECT, INSERT, UPDATE ON millstream_epochs TO soak;
"""
"""The job's own role is an ordinary one."""
QUICK = "keepalives_idle=1&keepalives_interval=1&keepalives_count=2&tcp_user_timeout=3000"
"""A server that is silently gone is noticed after 3 seconds, instead of 25."""


@contextmanager
def world(seed: int) -> Iterator[tuple[World, Places]]:
    """The servers, the ways to them, the job that runs; all of it gone afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="millstream-soak-")))
        disk = stack.enter_context(mounted(folder / "disk"))
        to_kafka, to_postgres = stack.enter_context(Proxy()), stack.enter_context(Proxy())
        broker = stack.enter_context(kafka.running(told=to_kafka.port))
        database = stack.enter_context(postgres.running())
        to_kafka.to, to_postgres.to = broker.port, database.port
        topics(to_kafka)
        with psycopg.connect(database.address()) as connection:
            connection.execute(TABLES)
        address = f"postgresql://soak@127.0.0.1:{to_postgres.port}/postgres?{QUICK}"
        places = Places(
            f"127.0.0.1:{to_kafka.port}", address, str(folder / "disk" / "checkpoint"), str(folder / "files")
        )
        places.save(folder)
        job = JobProcess(folder, places)
        stack.callback(job.kill)
        yield World(broker, to_kafka, database, to_postgres, disk, job, Random(seed)), places


def topics(way: Proxy) -> None:
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{way.port}"})
    for made in admin.create_topics([NewTopic(name, 2, 1) for name in ("orders", "every")]).values():
        made.result()


def soak(
    faults: int, until: float | None, seed: int, tell: Callable[[Struck], None]
) -> tuple[list[Struck], list[Verdict]]:
    with world(seed) as (there, places):
        struck: list[Struck] = []
        with Load(places.kafka, there.postgres.address(), seed):
            there.job.until_epoch(2, "its start")
            for kind in order(faults, there.random, there.disk is not None):
                struck.append(strike(kind, there))
                tell(struck[-1])
                if until is not None and time.monotonic() > until:
                    break
        return struck, ended(there, places)


def strike(kind: Kind, there: World) -> Struck:
    """Somewhere within an epoch; and then until the job has done two more, so that the next fault meets it at work."""
    time.sleep(there.random.uniform(0, 0.5))
    before, ends = len(there.job.failures()), there.job.given_up
    kind.strike(there)
    seconds = there.job.until_epoch(there.job.epoch() + 2, kind.name)
    return Struck(kind.name, seconds, tuple(there.job.failures()[before:]), there.job.given_up > ends)


def ended(there: World, places: Places) -> list[Verdict]:
    """When all is there that should be; or, if it does not come, what is there then."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = verdicts(there.kafka.servers, there.postgres.address(), Path(places.files))
        if time.monotonic() > deadline or not any(part.lost or part.duplicated for part in found):
            break
        time.sleep(2)
    return found
