"""The job that is tried: `python -m soak.brokers.job FOLDER`. It reads where everything is from FOLDER/places.json.

numbers in each broker ─┬─▶ a topic of a journal for each: every number once
                        ╰─▶ copies in the same broker: none lost, and repeats have the same token
"""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import millstream as ms
from millstream import activemq, journal, kinesis, rabbitmq, sqs
from millstream.spark import session
from millstream.spark.memory import QUICK
from servers.activemq import PASSWORD, USER
from soak.brokers.broker import COPIES, NUMBERS, numbers_of
from soak.places import Saved

RESTARTS = ms.exponential_delay(first="200 ms", most="1 second", calm="5 seconds")
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "x",
    "AWS_SECRET_ACCESS_KEY": "x",
    "AWS_DEFAULT_REGION": "us-east-1",
    "ACTIVEMQ_PASSWORD": PASSWORD,
}
"""For the job's process."""


@dataclass(frozen=True)
class Places(Saved):
    """`ports`: of the ways to the brokers, by their names."""

    checkpoint: str
    out: str
    ports: dict[str, int]


def source_and_sink(name: str, port: int) -> tuple[Any, Any]:
    """A message is known by its number, so that what is sent twice counts once."""
    if name == "rabbitmq":
        address = f"amqp://127.0.0.1:{port}/"
        return rabbitmq.source(NUMBERS, server=address, id_column="n"), rabbitmq.sink(COPIES, server=address)
    if name in ("classic", "artemis"):
        password = activemq.secret(env="ACTIVEMQ_PASSWORD")
        server = activemq.server(f"stomp://127.0.0.1:{port}", user=USER, password=password)
        return activemq.source(numbers_of(name), server=server, id_column="n"), activemq.sink(COPIES, server=server)
    login = sqs.secret(env="AWS_SECRET_ACCESS_KEY")
    account = sqs.account(region="us-east-1", endpoint=f"http://127.0.0.1:{port}", key="x", secret_key=login)
    if name == "sqs":
        source = sqs.source(NUMBERS, account=account, id_column="n", visibility="10 seconds")
        return source, sqs.sink(COPIES, account=account)
    return kinesis.source(NUMBERS, account=account, id_column="n"), kinesis.sink(COPIES, account=account)


def job(places: Places) -> ms.Job:
    made = ms.Job("soak", checkpoint=places.checkpoint, parallelism=1)
    for name, port in places.ports.items():
        source, sink = source_and_sink(name, port)
        numbers = made.stream(source, "n BIGINT", name=name)
        numbers.to(journal.sink(name, path=places.out), name=f"{name}_received")
        numbers.to(sink, name=f"{name}_copies")
    return made


def main(folder: str) -> None:
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    # What Spark keeps for itself is in the folder, too: a process that is killed cannot delete it.
    spark = session.make(4, 2, {**QUICK, "spark.local.dir": folder}, ())
    job(Places.load(Path(folder))).run(ms.micro_batch("200 ms"), restarts=RESTARTS, spark=spark)


if __name__ == "__main__":
    main(*sys.argv[1:])
