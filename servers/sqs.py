"""SQS, by ElasticMQ. `python -m servers.sqs` starts one and says where it listens."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

from millstream.spark.fetch import java
from servers.aws import AwsServer
from servers.jars import fetched
from servers.process import in_own_folder, serve_until_stopped

VERSION = "1.7.1"
CONFIG = """include classpath("application.conf")
node-address {{ protocol = http, host = "127.0.0.1", port = {port}, context-path = "" }}
rest-sqs {{ enabled = true, bind-port = {port}, bind-hostname = "127.0.0.1", sqs-limits = strict }}
rest-stats {{ enabled = false }}
messages-storage {{ enabled = true, uri = "jdbc:h2:{folder}/messages;WRITE_DELAY=0" }}
queues-storage {{ enabled = true, path = "{folder}/queues.conf" }}
"""
OPTIONS = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class Sqs(AwsServer):
    service: ClassVar[str] = "sqs"
    region: ClassVar[str] = "elasticmq"
    question: ClassVar[str] = "list_queues"

    def restart(self) -> None:
        """It answers before it knows its queues again."""
        known = self.queues()
        super().restart()
        self.server.wait_until(lambda: self.queues() == known)

    def queues(self) -> list[str]:
        return sorted(self.client().list_queues().get("QueueUrls", []))

    def _command(self) -> list[str]:
        settings = self.folder / "elasticmq.conf"
        settings.write_text(CONFIG.format(port=self.port, folder=self.folder))
        return [java(), *OPTIONS, f"-Dconfig.file={settings}", "-cp", f"{jars()}/*", "org.elasticmq.server.Main"]


def jars() -> Path:
    """The server's own jars, in a folder of the cache."""
    return fetched(f"elasticmq-{VERSION}", (f"org.elasticmq:elasticmq-server_2.13:{VERSION}",))


def running() -> AbstractContextManager[Sqs]:
    """A server in its own folder, deleted afterwards."""
    return in_own_folder("sqs", Sqs)


if __name__ == "__main__":
    serve_until_stopped(running(), lambda server: server.endpoint)
