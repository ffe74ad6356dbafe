"""Questions to a Kafka cluster, by the same client that the job uses."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pyspark import SparkContext

from millstream.errors import MillstreamError, did_you_mean


@dataclass(frozen=True)
class Topic:
    """`id`: what tells it from another topic of its name, before or after it."""

    partitions: int
    id: str


def topics(client: dict[str, str], names: tuple[str, ...], pattern: str | None) -> dict[str, Topic]:
    """Topics by name or by pattern; an error if one is not there."""
    jvm: Any = SparkContext._jvm
    assert jvm is not None, "the session was not prepared"
    answer = json.loads(jvm.millstream.kafka.Topics.partitions(json.dumps(client)))
    if "error" in answer:
        raise MillstreamError(
            "MS-KAFKA-003", f"no Kafka broker answers at {client['bootstrap.servers']}.", found=answer["error"]
        )
    there = {name: Topic(**told) for name, told in answer["topics"].items()}
    if pattern is not None:
        matching = jvm.millstream.kafka.Topics.matching(json.dumps(list(there)), pattern)
        return {name: there[name] for name in json.loads(matching)}
    for name in names:
        if name not in there:
            raise MillstreamError(
                "MS-KAFKA-004",
                f'there is no Kafka topic "{name}" at {client["bootstrap.servers"]}.',
                found="topics: " + ", ".join(sorted(there)[:20]),
                hint=did_you_mean(name, there),
            )
    return {name: there[name] for name in names}
