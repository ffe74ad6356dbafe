"""S3 on a folder, by S3Proxy. `python -m servers.s3` starts one and prints how to reach it."""

from __future__ import annotations

import urllib.error
import urllib.request
from contextlib import AbstractContextManager
from pathlib import Path

from pyarrow.fs import S3FileSystem

from millstream.spark.fetch import java
from servers.jars import fetched
from servers.process import Server, free_port, in_own_folder, serve_until_stopped

VERSION = "4.1.0"
JARS = (f"org.gaul:s3proxy:{VERSION}",)
# Its own version is too old for the jackson-databind that comes with it.
TOO_OLD, ANNOTATIONS = ("jackson-annotations-*.jar",), ("com.fasterxml.jackson.core:jackson-annotations:2.21",)
QUICK = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
USER, PASSWORD, REGION = "millstream", "a-secret-of-tests", "us-east-1"
BUCKET = "bucket"


class S3:
    """Answers at `endpoint`, by path style, to one user. It has one bucket."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.port = free_port()
        self.endpoint = f"http://127.0.0.1:{self.port}"
        self.objects = folder / "objects"
        """A folder for each bucket."""
        self.objects.mkdir()
        settings = folder / "s3proxy.conf"
        settings.write_text("".join(f"{name}={value}\n" for name, value in self._properties().items()))
        path = f"{fetched(f's3proxy-{VERSION}', JARS, TOO_OLD, ANNOTATIONS)}/*"
        self._command = [java(), *QUICK, "-cp", path, "org.gaul.s3proxy.Main", "--properties", str(settings)]
        self.start()
        self.make_bucket(BUCKET)

    def _properties(self) -> dict[str, str]:
        return {
            "s3proxy.endpoint": self.endpoint,
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.identity": USER,
            "s3proxy.credential": PASSWORD,
            "jclouds.provider": "filesystem-nio2",
            "jclouds.identity": "nobody",
            "jclouds.credential": "nothing",
            "jclouds.filesystem.basedir": str(self.objects),
        }

    def files(self, password: str = PASSWORD) -> S3FileSystem:
        """The same as another client sees it."""
        return S3FileSystem(
            access_key=USER,
            secret_key=password,
            endpoint_override=self.endpoint,
            region=REGION,
            allow_bucket_creation=True,
        )

    def make_bucket(self, name: str) -> None:
        self.files().create_dir(name)

    def start(self) -> None:
        self.server = Server(self._command, self._folder)
        self.server.wait_until(self._answers)

    def _answers(self) -> bool:
        """Whatever it says: without credentials it refuses."""
        try:
            urllib.request.urlopen(self.endpoint, timeout=2).close()
        except urllib.error.HTTPError as refused:
            refused.close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        """As in a crash: killed."""
        self.server.stop()


def settings(endpoint: str, bucket: str | None = None) -> dict[str, str]:
    """What Hadoop needs to reach it, or a proxy before it; for all buckets, or for one."""
    prefix = f"fs.s3a.bucket.{bucket}" if bucket else "fs.s3a"
    return {
        f"{prefix}.endpoint": endpoint,
        f"{prefix}.endpoint.region": REGION,
        f"{prefix}.path.style.access": "true",
        f"{prefix}.access.key": USER,
        f"{prefix}.secret.key": PASSWORD,
    }


def running() -> AbstractContextManager[S3]:
    """In its own folder, deleted afterwards."""
    return in_own_folder("s3", S3)


def reached(s3: S3) -> str:
    lines = (f"spark.hadoop.{name}={value}" for name, value in settings(s3.endpoint).items())
    return "\n".join([*lines, f"s3a://{BUCKET}"])


if __name__ == "__main__":
    serve_until_stopped(running(), reached)
