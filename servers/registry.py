"""Apicurio's schema registry, which speaks Confluent's protocol, with its schemas in memory."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from millstream.spark.fetch import cache, java, resolve
from servers.process import Server, free_port

VERSION = "2.6.13.Final"
QUICK = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


def jars() -> Path:
    """Unpacked, in a folder of the cache."""
    folder = cache() / f"registry-{VERSION}"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=folder.parent))
        resolve([f"io.apicurio:apicurio-registry-app:{VERSION}:all:tar.gz"], part, transitive=False)
        with tarfile.open(next(part.glob("*.tar.gz"))) as archive:
            archive.extractall(part / "all", filter="data")
        try:
            (part / "all").rename(folder)
        finally:
            shutil.rmtree(part)
    return folder


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/subjects", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


@contextmanager
def running() -> Iterator[str]:
    """The address of a registry, which ends afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="millstream-registry-"))
    port = free_port()
    main = next(jars().glob("*runner.jar"))
    settings = ("-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}")
    server = Server([java(), *QUICK, *settings, "-jar", str(main)], folder)
    try:
        url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
        server.wait_until(lambda: answers(url))
        yield url
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
