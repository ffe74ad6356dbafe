"""The common part of servers that act as Amazon's services."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.session import get_session

from servers.process import Server, free_port

KEY, SECRET = "x", "x"


class AwsServer:
    """A server that answers at `endpoint`; what it holds survives its death."""

    service: ClassVar[str]
    region: ClassVar[str]
    question: ClassVar[str]
    """The method of its client that checks whether it answers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.server = self._serve()

    def _command(self) -> list[str]:
        raise NotImplementedError

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> dict[str, str]:
        """For a job that uses it."""
        login = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_DEFAULT_REGION": self.region}
        return {f"MILLSTREAM_{self.service.upper()}": self.endpoint, **login}

    def client(self) -> Any:
        return get_session().create_client(
            self.service,
            region_name=self.region,
            endpoint_url=self.endpoint,
            aws_access_key_id=KEY,
            aws_secret_access_key=SECRET,
            config=Config(connect_timeout=2, read_timeout=20, retries={"max_attempts": 0}),
        )

    def restart(self) -> None:
        """As after a crash: killed, and started again on the same port."""
        self.stop()
        self.server = self._serve()

    def stop(self) -> None:
        self.server.stop()

    def _serve(self) -> Server:
        server = Server(self._command(), self.folder)
        server.wait_until(self._answers)
        return server

    def _answers(self) -> bool:
        try:
            getattr(self.client(), self.question)()
        except (BotoCoreError, ClientError):
            return False
        return True
