"""Questions to a Kafka cluster, by the same client that the job uses."""

from __future__ import annotations

import json
from dataclasses import dataclass

from millstream.errors import MillstreamError, did_you_mean


@dataclass(frozen=True)
class Topic:
    """`id`: distinguishes it from earlier or later topics of the same name."""

    partitions: int
    id: str


def find(client: dict[str, str], names: tuple[str, ...], pattern: str | None) -> dict[str, Topic]:
    """Topics by name or by pattern; an error if one is not there."""
    from millstream.spark import jvm

    ask = jvm.named("millstream.kafka.Topics").find
    answer = json.loads(ask(json.dumps(client), json.dumps(names), pattern))
    if "topics" not in answer:
        raise unanswered(client["bootstrap.servers"], answer)
    there = {name: Topic(**told) for name, told in answer["topics"].items()}
    for name in names:
        if name not in there:
            raise MillstreamError(
                "MS-KAFKA-004",
                f'there is no Kafka topic "{name}" at {client["bootstrap.servers"]}.',
                found="topics: " + ", ".join(sorted(answer["others"])[:20]),
                hint=did_you_mean(name, answer["others"]),
            )
    return there


def unanswered(servers: str, answer: dict[str, str]) -> MillstreamError:
    if "refused" in answer:
        hint = "look at tls, sasl and the settings of the cluster, and at what its user may do"
        return MillstreamError("MS-KAFKA-010", f"Kafka at {servers} refuses.", found=answer["refused"], hint=hint)
    return MillstreamError("MS-KAFKA-003", f"no Kafka broker answers at {servers}.", found=answer["error"])
