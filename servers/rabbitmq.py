"""RabbitMQ. `python -m servers.rabbitmq` starts one and says where it listens."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pika

from servers.certificate import Certificate, certificate
from servers.process import Server, free_port

PROGRAM = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
PLUGINS = "[rabbitmq_stream]."
CONFIG = """listeners.tcp.1 = 127.0.0.1:{amqp}
listeners.ssl.1 = 127.0.0.1:{tls}
ssl_options.cacertfile = {certificate}
ssl_options.certfile = {certificate}
ssl_options.keyfile = {key}
stream.listeners.tcp.1 = 127.0.0.1:{stream}
stream.advertised_host = 127.0.0.1
stream.advertised_port = {told}
heartbeat = 30
vm_memory_high_watermark.absolute = 1GB
disk_free_limit.absolute = 50MB
log.console = true
"""


class RabbitMQ:
    """A broker that answers at `url`, over TLS at `port_tls`, and to clients of streams at `port_stream`."""

    def __init__(self, folder: Path, told: int | None = None) -> None:
        """`told`: the port that the broker advertises to clients of streams, if a proxy is in between."""
        self.folder = folder
        self.port, self.port_tls, self.port_stream = free_port(), free_port(), free_port()
        self.certificate: Certificate = certificate(folder)
        settings = CONFIG.format(
            amqp=self.port,
            tls=self.port_tls,
            stream=self.port_stream,
            told=told or self.port_stream,
            certificate=self.certificate.file,
            key=self.certificate.key,
        )
        (folder / "rabbitmq.conf").write_text(settings)
        (folder / "enabled_plugins").write_text(PLUGINS)
        self._mapper_port = str(free_port())
        self._environment = {
            **os.environ,
            "HOME": str(folder),
            "RABBITMQ_NODENAME": f"millstream{self.port}@localhost",
            "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
            "RABBITMQ_MNESIA_BASE": str(folder / "data"),
            "RABBITMQ_LOG_BASE": str(folder / "log"),
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "ERL_EPMD_PORT": self._mapper_port,
            "ERL_EPMD_RELAXED_COMMAND_CHECK": "1",
            "ERL_EPMD_ADDRESS": "127.0.0.1",
        }
        self.server = self._serve()

    @property
    def ports(self) -> tuple[int, int, int]:
        return self.port, self.port_tls, self.port_stream

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}/"

    @property
    def url_streams(self) -> str:
        return f"rabbitmq-stream://guest:guest@127.0.0.1:{self.port_stream}/"

    def kill(self) -> None:
        """With Erlang's port mapper, which would outlive it."""
        self.server.stop()
        subprocess.run(["epmd", "-port", self._mapper_port, "-kill"], check=False, capture_output=True)

    def restart(self) -> None:
        """As after a crash: killed, and started again on the same ports."""
        self.kill()
        self.server = self._serve()

    def _serve(self) -> Server:
        server = Server([str(installed())], self.folder, self._environment)
        server.wait_until(lambda: answers(self.url) and all(map(listens, self.ports)))
        return server


def installed() -> Path:
    """The server's program; installed by the system's own package manager if it is not there."""
    if PROGRAM.exists():
        return PROGRAM
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise RuntimeError(
            f"these tests need RabbitMQ 3.9 or newer: install rabbitmq-server, so that {PROGRAM} is there"
        )
    subprocess.run(["apt-get", "update", "-qq"], check=False)
    subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "rabbitmq-server"], check=True)
    return installed()


def answers(url: str) -> bool:
    try:
        pika.BlockingConnection(pika.URLParameters(url)).close()
    except (pika.exceptions.AMQPError, OSError):
        return False
    return True


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@contextmanager
def running(told: int | None = None) -> Iterator[RabbitMQ]:
    """A broker in its own folder, deleted afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="millstream-rabbitmq-"))
    try:
        broker = RabbitMQ(folder, told)
        try:
            yield broker
        finally:
            broker.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    with running() as started:
        print(started.url, flush=True)
        signal.sigwait({signal.SIGINT, signal.SIGTERM})
