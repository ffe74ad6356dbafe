"""Questions to a Kafka cluster, by the same client that the job uses."""

from __future__ import annotations

import json
from typing import Any

from pyspark import SparkContext

from millstream.errors import MillstreamError, did_you_mean


def partitions(client: dict[str, str], topics: tuple[str, ...], pattern: str | None) -> dict[str, int]:
    """Topic -> its number of partitions, for topics by name or by pattern; an error if one is not there."""
    jvm: Any = SparkContext._jvm
    assert jvm is not None, "the session was not prepared"
    answer = json.loads(jvm.millstream.kafka.Topics.partitions(json.dumps(client)))
    if "error" in answer:
        raise MillstreamError(
            "MS-KAFKA-003", f"no Kafka broker answers at {client['bootstrap.servers']}.", found=answer["error"]
        )
    there: dict[str, int] = answer["topics"]
    if pattern is not None:
        names = jvm.millstream.kafka.Topics.matching(json.dumps(list(there)), pattern)
        return {name: there[name] for name in json.loads(names)}
    for topic in topics:
        if topic not in there:
            raise MillstreamError(
                "MS-KAFKA-004",
                f'there is no Kafka topic "{topic}" at {client["bootstrap.servers"]}.',
                found="topics: " + ", ".join(sorted(there)[:20]),
                hint=did_you_mean(topic, there),
            )
    return {topic: there[topic] for topic in topics}
