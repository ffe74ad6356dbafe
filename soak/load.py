"""Load: orders stream into Kafka, customers change in Postgres, whatever breaks meanwhile."""

from __future__ import annotations

import contextlib
import json
import threading
from random import Random
from typing import Self

import psycopg
from confluent_kafka import Producer

CUSTOMERS = 20
PER_STEP, STEP = 10, 0.1
"""How many orders are sent at a time, and seconds in between."""
SETTINGS = {
    "enable.idempotence": True,
    "message.timeout.ms": 0,
    "reconnect.backoff.max.ms": 500,
    "log_level": 0,
}


class Background:
    """A thread that does something over and over, as long as the block lasts."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._go)

    def _go(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()


class Load(Background):
    """Orders. What was sent is found in Kafka itself."""

    def __init__(self, servers: str, seed: int, customers: int = CUSTOMERS) -> None:
        super().__init__()
        self._producer = Producer({"bootstrap.servers": servers, **SETTINGS})
        self._seed = seed
        self._customers = customers
        self.next = 0
        """The number of the order that comes next."""

    def _go(self) -> None:
        random = Random(self._seed)
        while not self._stop.wait(STEP):
            for number in range(self.next, self.next + PER_STEP):
                order = {"id": number, "customer": random.randrange(self._customers), "price": random.randint(1, 100)}
                self._producer.produce("orders", json.dumps(order), partition=number % 2)
            self.next += PER_STEP
            self._producer.poll(0)

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        if self._producer.flush(60):
            raise RuntimeError("Kafka did not take all orders")


class Customers(Background):
    """Inserts, updates and deletes, each a transaction; one that the server did not accept is left out."""

    def __init__(self, address: str, seed: int) -> None:
        super().__init__()
        self._address = address
        self._seed = seed

    def _go(self) -> None:
        random = Random(self._seed + 1)
        while not self._stop.wait(STEP):
            customer, name = random.randrange(CUSTOMERS), f"name {random.randrange(1000)}"
            with contextlib.suppress(psycopg.OperationalError), psycopg.connect(self._address) as connection:
                if random.random() < 0.2:
                    connection.execute("DELETE FROM customers WHERE id = %s", [customer])
                else:
                    upsert = "INSERT INTO customers VALUES (%s, %s) ON CONFLICT (id) DO UPDATE SET name = excluded.name"
                    connection.execute(upsert, [customer, name])
