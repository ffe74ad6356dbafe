"""Postgres with logical replication. `python -m servers.postgres` starts one and says where it listens."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import psycopg

from servers.process import Server, free_port, in_own_folder, serve_until_stopped

TRIES = 50
SETTINGS = (
    "wal_level=logical",
    "max_wal_senders=8",
    "max_replication_slots=32",
    "fsync=off",
    "listen_addresses=127.0.0.1",
)


class Postgres:
    """A server that answers at `address`, as its superuser."""

    def __init__(self, server: Server, data: Path, port: int) -> None:
        self.server = server
        self.data = data
        self.port = port

    def address(self, user: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/postgres"

    def restart(self) -> None:
        """As after a crash: killed, and started again on the same port."""
        self.stop()
        for _ in range(TRIES):
            (self.data / "postmaster.pid").unlink(missing_ok=True)
            try:
                self.server = serve(self.data, self.port)
                return
            except RuntimeError:  # what the old one left still ends, and holds its memory
                time.sleep(0.2)
        raise RuntimeError(f"Postgres does not come back: {self.server.log}")

    def stop(self) -> None:
        self.server.stop()


def programs() -> Path:
    """Where initdb and postgres are; installed by the system's own package manager if they are not there."""
    found = shutil.which("initdb")
    folders = [
        *([Path(found).parent] if found else []),
        *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
    ]
    ready = [folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()]
    if ready:
        return ready[0]
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise RuntimeError("these tests need PostgreSQL 14 or newer: install it, so that initdb is found")
    subprocess.run(["apt-get", "update", "-qq"], check=False)
    subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", "postgresql"], check=True)
    return programs()


def unprivileged(command: Sequence[str]) -> list[str]:
    """Postgres does not run as root."""
    return ["runuser", "-u", account(), "--", *command] if os.geteuid() == 0 else list(command)


def account() -> str:
    names = [entry.pw_name for entry in pwd.getpwall()]
    return "postgres" if "postgres" in names else "nobody"


def start(folder: Path, settings: Sequence[str] = SETTINGS) -> Postgres:
    data = folder / "data"
    data.mkdir()
    if os.geteuid() == 0:
        shutil.chown(data, account())
        folder.chmod(0o755)
    init = [str(programs() / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "--no-sync"]
    subprocess.run(unprivileged(init), check=True, capture_output=True, cwd="/")
    port = free_port()
    return Postgres(serve(data, port, settings), data, port)


def serve(data: Path, port: int, settings: Sequence[str] = SETTINGS) -> Server:
    given = [part for setting in (*settings, f"port={port}", "unix_socket_directories=") for part in ("-c", setting)]
    server = Server(unprivileged([str(programs() / "postgres"), "-D", str(data), *given]), data.parent)
    server.wait_until(lambda: answers(f"postgresql://postgres@127.0.0.1:{port}/postgres"))
    return server


def answers(address: str) -> bool:
    try:
        psycopg.connect(address, connect_timeout=2).close()
    except psycopg.OperationalError:
        return False
    return True


def running(settings: Sequence[str] = SETTINGS) -> AbstractContextManager[Postgres]:
    """A server in its own folder, deleted afterwards."""
    return in_own_folder("postgres", lambda folder: start(folder, settings))


if __name__ == "__main__":
    serve_until_stopped(running(), Postgres.address)
