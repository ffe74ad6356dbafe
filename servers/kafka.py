"""Kafka, one node, KRaft. `python -m servers.kafka` starts one and says where it listens, until Ctrl-C."""

from __future__ import annotations

import base64
import json
import subprocess
import uuid
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import AdminClient

from millstream.spark.fetch import java
from servers.jars import fetched
from servers.process import Server, free_port, in_own_folder, serve_until_stopped

VERSION = "4.3.1"
LOGGING = "2.25.4"
JARS = (
    f"org.apache.kafka:kafka_2.13:{VERSION}",
    f"org.apache.logging.log4j:log4j-slf4j-impl:{LOGGING}",
    f"org.apache.logging.log4j:log4j-core:{LOGGING}",
)
# A test's server does not live long enough for the JVM's slow compiler to pay off.
QUICK = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dlog4j2.level=WARN")


USER, PASSWORD = "millstream", 'a "secret" \\ password'
SCRAM, SCRAM_PASSWORD = "SCRAM-SHA-512", "another secret"
SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"
"""The users of the secure address, by one mechanism or the other."""


class Kafka:
    """A broker that answers at `servers`, by TLS at `port_tls`, and by TLS to a user with a password at `secure`."""

    def __init__(self, server: Server, ports: Ports, ca: Path, command: list[str]) -> None:
        self.server = server
        self.port, self.port_tls = ports.plain, ports.tls
        self.servers = f"127.0.0.1:{ports.plain}"
        self.secure = f"127.0.0.1:{ports.secure}"
        self.ca = ca
        self._command = command

    def restart(self) -> None:
        """As after a crash: killed, and started again on the same ports."""
        self.stop()
        self.server = serve(self._command, self.server.log.parent, self.servers)

    def stop(self) -> None:
        self.server.stop()


def jars() -> Path:
    """The server's own jars, in a folder of the cache."""
    return fetched(f"kafka-server-{VERSION}", JARS)


def start(
    folder: Path, options: tuple[str, ...] = QUICK, told: int | None = None, told_tls: int | None = None
) -> Kafka:
    """`told`, `told_tls`: the port that the broker advertises, if a proxy is between it and its clients."""
    ports = free_ports()
    node = Node(1, ports, f"1@127.0.0.1:{ports.controller}", told, told_tls)
    command = formatted(folder, node, cluster_id(), options)
    return Kafka(serve(command, folder, f"127.0.0.1:{ports.plain}"), ports, folder / "ca.pem", command)


def formatted(
    folder: Path, node: Node, cluster: str, options: tuple[str, ...], more: dict[str, str] | None = None
) -> list[str]:
    """Makes a broker's folder ready; the command that starts it."""
    settings = folder / "server.properties"
    certificate(folder)
    known = {**properties(folder, node), **security(folder), **(more or {})}
    settings.write_text("".join(f"{name}={escaped(value)}\n" for name, value in known.items()))
    run = [java(), *options, "-cp", f"{jars()}/*"]
    scram = ["--add-scram", f"{SCRAM}=[name={USER},password={SCRAM_PASSWORD}]"]
    format_ = [*run, "kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings), *scram]
    subprocess.run(format_, check=True, capture_output=True)
    return [*run, "kafka.Kafka", str(settings)]


def serve(command: list[str], folder: Path, address: str) -> Server:
    server = Server(command, folder)
    server.wait_until(lambda: answers(address))
    return server


class Ports(NamedTuple):
    plain: int
    tls: int
    secure: int
    controller: int


def free_ports() -> Ports:
    return Ports(free_port(), free_port(), free_port(), free_port())


class Node(NamedTuple):
    """A broker of a cluster. `voters`: all its controllers; `told`, `told_tls`: as in `start`."""

    number: int
    ports: Ports
    voters: str
    told: int | None = None
    told_tls: int | None = None


def certificate(folder: Path) -> None:
    """The broker's self-signed certificate; also as `ca.pem`, for its clients."""
    tool, store, pem = str(Path(java()).with_name("keytool")), str(folder / "server.p12"), folder / "ca.pem"
    access = ("-alias", "kafka", "-keystore", store, "-storepass", "changeit", "-storetype", "PKCS12")
    name = ("-dname", "CN=localhost", "-ext", "SAN=ip:127.0.0.1", "-keyalg", "EC", "-validity", "3650")
    subprocess.run([tool, "-genkeypair", *access, *name], check=True, capture_output=True)
    subprocess.run([tool, "-exportcert", "-rfc", "-file", str(pem), *access], check=True, capture_output=True)


def security(folder: Path) -> dict[str, str]:
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    return {
        "ssl.keystore.location": str(folder / "server.p12"),
        "ssl.keystore.password": "changeit",
        "ssl.keystore.type": "PKCS12",
        "sasl.enabled.mechanisms": f"PLAIN,{SCRAM}",
        f"listener.name.secure.{SCRAM.lower()}.sasl.jaas.config": f"{SCRAM_LOGIN} required;",
        "listener.name.secure.plain.sasl.jaas.config": f"{login} user_{USER}={json.dumps(PASSWORD)};",
    }


def escaped(value: str) -> str:
    """In a Java properties file a backslash has a meaning."""
    return value.replace("\\", "\\\\")


def properties(folder: Path, node: Node) -> dict[str, str]:
    ports = node.ports
    told = {"PLAINTEXT": node.told or ports.plain, "TLS": node.told_tls or ports.tls, "SECURE": ports.secure}
    heard = {"PLAINTEXT": ports.plain, "TLS": ports.tls, "SECURE": ports.secure, "CONTROLLER": ports.controller}
    return {
        "process.roles": "broker,controller",
        "node.id": str(node.number),
        "controller.quorum.voters": node.voters,
        "controller.listener.names": "CONTROLLER",
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in heard.items()),
        "advertised.listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in told.items()),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,TLS:SSL,SECURE:SASL_SSL,CONTROLLER:PLAINTEXT",
        "log.dirs": str(folder / "data"),
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
    }


def cluster_id() -> str:
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=").replace("-", "A", 1)


def answers(address: str) -> bool:
    quiet = {"bootstrap.servers": address, "log_level": 0}
    try:
        return bool(AdminClient(quiet).list_topics(timeout=2).brokers)
    except Exception:
        return False


def running(
    options: tuple[str, ...] = QUICK, told: int | None = None, told_tls: int | None = None
) -> AbstractContextManager[Kafka]:
    """A broker in its own folder, deleted afterwards."""
    return in_own_folder("kafka", lambda folder: start(folder, options, told, told_tls))


if __name__ == "__main__":
    serve_until_stopped(running(), lambda broker: broker.servers)
