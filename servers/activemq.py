"""ActiveMQ, Classic and Artemis, over STOMP. `python -m servers.activemq [artemis]` starts one."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Literal

from millstream.spark.fetch import java
from servers.certificate import certificate
from servers.jars import fetched
from servers.process import Server, free_port, in_own_folder, serve_until_stopped

Kind = Literal["classic", "artemis"]
CLASSIC, ARTEMIS = "6.3.1", "2.55.0"
USER, PASSWORD = "millstream", "a secret"
CLASSIC_PARTS = ("broker", "client", "jaas", "kahadb-store", "openwire-legacy", "stomp")
JARS = {
    "classic": tuple(f"org.apache.activemq:activemq-{part}:{CLASSIC}" for part in CLASSIC_PARTS),
    "artemis": tuple(f"org.apache.artemis:artemis-{part}:{ARTEMIS}" for part in ("server", "stomp-protocol")),
}
# A jar that its POM calls a Maven plugin.
MORE = {"classic": (f"org.apache.activemq.protobuf:activemq-protobuf:{CLASSIC}::jar",), "artemis": ()}
MAINS = {"classic": "ActiveMq.java", "artemis": "Artemis.java"}
QUICK = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class ActiveMQ:
    """A broker at `url`. What it holds survives its death. Classic asks for a password, and has TLS at `port_tls`."""

    def __init__(self, folder: Path, kind: Kind) -> None:
        self.kind = kind
        self.port, self.port_tls = free_port(), free_port()
        self.certificate = certificate(folder)
        self._folder = folder
        self._ready = folder / "ready"
        jars = fetched(f"activemq-{kind}-{CLASSIC if kind == 'classic' else ARTEMIS}", JARS[kind], instead=MORE[kind])
        main = Path(__file__).with_name(MAINS[kind])
        keys = str(self.certificate.as_pkcs12(PASSWORD))
        login = (USER, PASSWORD, str(self.port_tls), keys) if kind == "classic" else ()
        arguments = (str(folder / "data"), str(self.port), str(self._ready), *login)
        self._command = [java(), *QUICK, "-cp", f"{jars}/*", str(main), *arguments]
        self.server = self._serve()

    @property
    def url(self) -> str:
        return f"stomp://{USER}:a%20secret@127.0.0.1:{self.port}"

    def restart(self) -> None:
        """As after a crash: killed, and started again on the same port."""
        self.stop()
        self.server = self._serve()

    def stop(self) -> None:
        self.server.stop()

    def _serve(self) -> Server:
        self._ready.unlink(missing_ok=True)
        server = Server(self._command, self._folder)
        server.wait_until(self._ready.exists)
        return server


def running(kind: Kind = "classic") -> AbstractContextManager[ActiveMQ]:
    """A broker in its own folder, deleted afterwards."""
    return in_own_folder("activemq", lambda folder: ActiveMQ(folder, kind))


if __name__ == "__main__":
    wanted: Kind = "artemis" if "artemis" in sys.argv[1:] else "classic"
    serve_until_stopped(running(wanted), lambda broker: broker.url)
