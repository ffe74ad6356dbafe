"""A test's own topics: made, filled and read by a client that has nothing to do with Millstream's."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic


@dataclass(frozen=True)
class Topics:
    """Topics whose names begin with the test's own."""

    servers: str
    prefix: str

    def name(self, topic: str) -> str:
        return f"{self.prefix}.{topic}"

    @property
    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.servers})

    def create(self, topic: str, partitions: int = 2, compacted: bool = False) -> str:
        config = {"cleanup.policy": "compact"} if compacted else {}
        admin = self.admin
        made = admin.create_topics([NewTopic(self.name(topic), partitions, 1, config=config)])
        for future in made.values():
            future.result()
        return self.name(topic)

    def send(self, topic: str, *values: Any, key: Callable[[Any], str] | None = None, **more: Any) -> None:
        """Values as JSON, or bytes as they are."""
        producer = Producer({"bootstrap.servers": self.servers})
        for value in values:
            data = value if isinstance(value, bytes) else json.dumps(value).encode()
            producer.produce(topic, data, key=key(value) if key else None, **more)
        assert producer.flush(30) == 0

    def delete(self, topic: str, *keys: str) -> None:
        producer = Producer({"bootstrap.servers": self.servers})
        for key in keys:
            producer.produce(topic, None, key=key)
        assert producer.flush(30) == 0

    def ends(self, topic: str) -> dict[int, int]:
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "ends"})
        parts = consumer.list_topics(topic).topics[topic].partitions
        found = {part: consumer.get_watermark_offsets(TopicPartition(topic, part))[1] for part in parts}
        consumer.close()
        return found

    def read(self, topic: str, isolation: str = "read_committed") -> list[Message]:
        """All there is now."""
        settings = {
            "bootstrap.servers": self.servers,
            "group.id": uuid.uuid4().hex,
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
        consumer = Consumer(settings)
        parts = [TopicPartition(topic, n, OFFSET_BEGINNING) for n in self.ends(topic)]
        consumer.assign(parts)
        waiting, found = {part.partition for part in parts}, []
        while waiting:
            message = consumer.poll(30)
            assert message is not None, f"the broker does not answer; waiting for {waiting}"
            if message.error():
                waiting.discard(message.partition())
            else:
                found.append(message)
        consumer.close()
        return found

    def rows(self, topic: str, isolation: str = "read_committed") -> list[Any]:
        return [json.loads(message.value()) for message in self.read(topic, isolation)]

    def group(self, name: str, topic: str) -> dict[int, int]:
        """The offsets that a consumer group has committed."""
        from confluent_kafka import ConsumerGroupTopicPartitions

        admin = self.admin
        asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(name)])
        parts: Sequence[TopicPartition] = asked[name].result().topic_partitions
        return {part.partition: part.offset for part in parts if part.topic == topic}
