"""The jars that reading and writing Kafka needs: this set was tried with the Spark that Millstream is built for."""

from __future__ import annotations

from pathlib import Path

from millstream.plan.connectors import JarSet

HERE = Path(__file__)
JARS = JarSet(
    "kafka",
    pins=str(HERE.with_name("jars.json")),
    own=str(HERE.parents[2] / "jars" / "millstream-kafka.jar"),
    sign="millstream.kafka.Topics",
)
