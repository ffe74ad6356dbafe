"""What a reader of committed rows sees while the job runs."""

from __future__ import annotations

import json
import uuid

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from soak.load import Background

PARTITIONS = 2


class Committed(Background):
    """The orders that have come to `every`, as far as they are committed."""

    def __init__(self, servers: str) -> None:
        super().__init__()
        self._consumer = Consumer(
            {"bootstrap.servers": servers, "group.id": uuid.uuid4().hex, "isolation.level": "read_committed"}
        )
        self._consumer.assign([TopicPartition("every", number, OFFSET_BEGINNING) for number in range(PARTITIONS)])
        self.last = -1
        """The highest number of all orders seen."""

    def _go(self) -> None:
        while not self._stop.is_set():
            message = self._consumer.poll(0.1)
            if message is not None and not message.error():
                self.last = max(self.last, int(json.loads(message.value())["id"]))
        self._consumer.close()
