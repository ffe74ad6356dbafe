"""Three brokers of Kafka, each of them a controller as well: one may be killed, and the others continue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka.admin import AdminClient

from servers.kafka import Node, answers, cluster_id, formatted, free_ports
from servers.process import Server, in_own_folder

SMALL = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dlog4j2.level=WARN")
COPIES = 3
SHARED = {
    "default.replication.factor": str(COPIES),
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": str(COPIES),
    "transaction.state.log.replication.factor": str(COPIES),
    "transaction.state.log.min.isr": "2",
    # A broker that is dead is known to be so in seconds.
    "broker.session.timeout.ms": "4000",
    "broker.heartbeat.interval.ms": "500",
}


class Brokers:
    """By their numbers, from 1 on; they answer at `servers`."""

    def __init__(self, folder: Path) -> None:
        ports = {number: free_ports() for number in range(1, COPIES + 1)}
        voters = ",".join(f"{number}@127.0.0.1:{one.controller}" for number, one in ports.items())
        self.servers = ",".join(f"127.0.0.1:{one.plain}" for one in ports.values())
        self._folders = {number: folder / str(number) for number in ports}
        cluster, self._commands = cluster_id(), {}
        for number, one in ports.items():
            self._folders[number].mkdir()
            node = Node(number, one, voters)
            self._commands[number] = formatted(self._folders[number], node, cluster, SMALL, SHARED)
        self._running = {number: self._serve(number) for number in ports}

    @property
    def numbers(self) -> list[int]:
        return sorted(self._running)

    def _serve(self, number: int) -> Server:
        return Server(self._commands[number], self._folders[number])

    def wait(self) -> None:
        """Waits until all are there, and every partition has all its copies."""
        for server in self._running.values():
            server.wait_until(lambda: answers(self.servers) and self._whole())

    def _whole(self) -> bool:
        known = AdminClient({"bootstrap.servers": self.servers, "log_level": 0}).list_topics(timeout=10)
        copies = [len(part.isrs) for topic in known.topics.values() for part in topic.partitions.values()]
        return len(known.brokers) == COPIES and all(number == COPIES for number in copies)

    def leader(self, topic: str, partition: int) -> int:
        known = AdminClient({"bootstrap.servers": self.servers, "log_level": 0}).list_topics(topic, timeout=10)
        return int(known.topics[topic].partitions[partition].leader)

    def kill(self, number: int) -> None:
        self._running[number].stop()

    def start(self, number: int) -> None:
        self._running[number] = self._serve(number)

    def stop(self) -> None:
        for server in self._running.values():
            server.stop()


@contextmanager
def running() -> Iterator[Brokers]:
    """In their own folder, deleted afterwards."""
    with in_own_folder("brokers", Brokers) as brokers:
        brokers.wait()
        yield brokers
