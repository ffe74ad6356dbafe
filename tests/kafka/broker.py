"""A test's own topics: made, filled and read by a client that has nothing to do with Millstream's."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, IsolationLevel, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)


@dataclass(frozen=True)
class Topics:
    """Topics whose names begin with the test's own."""

    servers: str
    prefix: str
    copies: int = 1

    def name(self, topic: str) -> str:
        return f"{self.prefix}.{topic}"

    @property
    def admin(self) -> AdminClient:
        """Must be kept: its answers go with it."""
        return AdminClient({"bootstrap.servers": self.servers})

    def create(self, topic: str, partitions: int = 2, compacted: bool = False, **settings: str) -> str:
        config = {**({"cleanup.policy": "compact"} if compacted else {}), **settings}
        admin = self.admin
        made = admin.create_topics([NewTopic(self.name(topic), partitions, self.copies, config=config)])
        for future in made.values():
            future.result()
        return self.name(topic)

    def widen(self, topic: str, partitions: int) -> None:
        """Widens the topic to `partitions` partitions in all."""
        admin = self.admin
        for done in admin.create_partitions([NewPartitions(topic, partitions)]).values():
            done.result(30)

    def allow(self, topic: str, **settings: str) -> None:
        """Settings of a topic that is there."""
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in settings.items()
        ]
        asked = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
        admin = self.admin
        for done in admin.incremental_alter_configs([asked]).values():
            done.result(30)

    def drop(self, topic: str) -> None:
        admin = self.admin
        for done in admin.delete_topics([topic]).values():
            done.result(30)
        while topic in admin.list_topics(timeout=10).topics:
            pass

    def send(self, topic: str, *values: Any, key: Callable[[Any], str] | None = None, **more: Any) -> None:
        """Values as JSON, or bytes as they are."""
        producer = Producer({"bootstrap.servers": self.servers, "message.max.bytes": 10_000_000})
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
        """By partition, the offset behind the last record, committed or not."""
        settings = {"bootstrap.servers": self.servers, "group.id": "ends", "isolation.level": "read_uncommitted"}
        consumer = Consumer(settings)
        parts = consumer.list_topics(topic).topics[topic].partitions
        found = {part: consumer.get_watermark_offsets(TopicPartition(topic, part))[1] for part in parts}
        consumer.close()
        return found

    def settled(self, topic: str) -> bool:
        """Whether no transaction is open on it."""
        asked = {TopicPartition(topic, part): OffsetSpec.latest() for part in self.ends(topic)}
        admin = self.admin
        stable = admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED)
        return {part.partition: future.result(30).offset for part, future in stable.items()} == self.ends(topic)

    def forget(self, topic: str) -> None:
        """As retention does: what is there now is gone, and the offsets stay."""
        admin, ends = self.admin, self.ends(topic)
        for done in admin.delete_records([TopicPartition(topic, *end) for end in ends.items()]).values():
            done.result(30)

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
