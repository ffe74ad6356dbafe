"""The jars that reading RabbitMQ's streams needs. Queues need none."""

from __future__ import annotations

from pathlib import Path

from millstream.plan.connectors import JarSet

HERE = Path(__file__)
JARS = JarSet(
    "rabbitmq",
    pins=str(HERE.with_name("jars.json")),
    own=str(HERE.parents[2] / "jars" / "millstream-rabbitmq.jar"),
    sign="millstream.rabbitmq.StreamProvider",
)
