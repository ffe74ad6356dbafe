"""Load: orders stream into Kafka, customers change in Postgres, whatever breaks meanwhile."""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from random import Random
from typing import Self

import psycopg
from confluent_kafka import Producer

CUSTOMERS = 20
PER_STEP, STEP = 10, 0.1
"""So many orders every so many seconds."""
SETTINGS = {
    "enable.idempotence": True,
    "message.timeout.ms": 0,
    "reconnect.backoff.max.ms": 500,
    "log_level": 0,
}


class Load:
    """Two threads. What they have sent is found in Kafka and Postgres themselves."""

    def __init__(self, servers: str, address: str, seed: int) -> None:
        self._producer = Producer({"bootstrap.servers": servers, **SETTINGS})
        self._address = address
        self._seed = seed
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=each) for each in (self._orders, self._customers)]

    def _orders(self) -> None:
        random = Random(self._seed)
        for step in itertools.count():
            if self._stop.wait(STEP):
                return
            for number in range(step * PER_STEP, (step + 1) * PER_STEP):
                order = {"id": number, "customer": random.randrange(CUSTOMERS), "price": random.randint(1, 100)}
                self._producer.produce("orders", json.dumps(order), partition=number % 2)
            self._producer.poll(0)

    def _customers(self) -> None:
        """Inserts, updates and deletes, each a transaction; one that the server did not take is left out."""
        random = Random(self._seed + 1)
        while not self._stop.wait(STEP):
            customer, name = random.randrange(CUSTOMERS), f"name {random.randrange(1000)}"
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self._address) as connection:
                if random.random() < 0.2:
                    connection.execute("DELETE FROM customers WHERE id = %s", [customer])
                else:
                    upsert = "INSERT INTO customers VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET name = excluded.name"
                    connection.execute(upsert, [customer, name])

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()
        if self._producer.flush(60):
            raise RuntimeError("Kafka did not take all orders")
