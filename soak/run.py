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

from millstream.storage import CheckpointFolder
from servers import kafka, postgres
from servers.proxy import Proxy
from soak.disk import mounted
from soak.faults import KINDS, World
from soak.job import Places
from soak.judge import Verdict, verdicts
from soak.kinds import order
from soak.load import Customers, Load
from soak.process import PATIENCE, JobProcess
from soak.strike import Plan, Struck, strike_all

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
    """The servers, the proxies to them, and the running job; all of it is gone afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="millstream-soak-")))
        disk = stack.enter_context(mounted(folder / "disk"))
        to_kafka, to_postgres = stack.enter_context(Proxy()), stack.enter_context(Proxy())
        broker = stack.enter_context(kafka.running(told=to_kafka.port))
        database = stack.enter_context(postgres.running())
        to_kafka.to, to_postgres.to = broker.port, database.port
        topics(to_kafka.port, "orders", "every")
        with psycopg.connect(database.address()) as connection:
            connection.execute(TABLES)
        address = f"postgresql://soak@127.0.0.1:{to_postgres.port}/postgres?{QUICK}"
        places = Places(
            f"127.0.0.1:{to_kafka.port}", address, str(folder / "disk" / "checkpoint"), str(folder / "files")
        )
        places.save(folder)
        job = JobProcess("soak.job", folder)
        stack.callback(job.kill)
        yield World(broker, to_kafka, database, to_postgres, disk, job, Random(seed)), places


def topics(port: int, *names: str) -> None:
    admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"})
    for made in admin.create_topics([NewTopic(name, 2, 1) for name in names]).values():
        made.result()


def soak(plan: Plan) -> tuple[list[Struck], list[Verdict]]:
    with world(plan.seed) as (there, places):
        committed = CheckpointFolder.at(places.checkpoint)

        def epoch() -> int:
            return max(committed.committed(), default=-1)

        def two_more() -> Callable[[], bool]:
            wanted = epoch() + 2
            return lambda: epoch() >= wanted

        with Load(places.kafka, plan.seed), Customers(there.postgres.address(), plan.seed):
            there.job.until(lambda: epoch() >= 2, "its start")
            kinds = order(KINDS, plan.faults, there.random, there.disk is not None)
            struck = strike_all(kinds, there, there.job, two_more, plan)
        return struck, ended(there, places)


def ended(there: World, places: Places) -> list[Verdict]:
    """The result when everything is there; or, if it does not come, what is there then."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = verdicts(there.kafka.servers, there.postgres.address(), Path(places.files))
        if time.monotonic() > deadline or not any(part.lost or part.duplicated for part in found):
            break
        time.sleep(2)
    return found
