"""Operations on the state and the code of a job that a manager runs: savepoint, restore, rescale, diff, upgrade."""

from __future__ import annotations

import functools
import json
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from millstream.cli.changes import INCOMPATIBLE, shown
from millstream.cli.restore_choices import Chosen, choices
from millstream.errors import MillstreamError
from millstream.manager.bundle import pack
from millstream.manager.client import Client, default_home
from millstream.manager.home import Home
from millstream.manager.operations import WORDS
from millstream.manager.package import FILE, pack_package

NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
LOOK = 0.5
MANAGER_HELP = "JOB is the name of a job there. By default MILLSTREAM_MANAGER, or the manager on this machine."


@dataclass(frozen=True)
class Manager:
    """Where a command for a job of a manager is sent."""

    url: str | None
    token: str | None
    wait: bool
    as_json: bool

    def has(self, job: str) -> bool:
        """Whether it is the name of a manager's job, and not a file or a folder."""
        if self.url is not None:
            return True
        somewhere = "MILLSTREAM_MANAGER" in os.environ or Home(default_home()).address.exists()
        return somewhere and NAME.fullmatch(job) is not None and not Path(job).exists()

    @property
    def client(self) -> Client:
        return Client(self.url, self.token)

    def do(self, name: str, what: str, asked: dict[str, Any] | None = None) -> None:
        client = self.client
        self.settle(client, name, client.post(f"/api/v1/jobs/{name}/{what}", asked))

    def send(self, name: str, what: str, code: tuple[str, bytes], asked: dict[str, Any], env: str = "") -> Any:
        """With the job's files; the operation that was begun."""
        file, packed = code
        fields = {"file": file, "asked": json.dumps(asked), "env": env}
        return self.client.upload(f"/api/v1/jobs/{name}/{what}", packed, fields)

    def settle(self, client: Client, name: str, operation: dict[str, Any]) -> None:
        settle(client, name, operation, self.wait, self.as_json)


def sent(file: Path, entry: str | None = None) -> tuple[str, bytes]:
    """Which file has the job, and the archive that it goes in. `file`: one, or the folder of a project."""
    if file.is_dir():
        return FILE, pack_package(file, entry)
    if not file.is_file():
        raise MillstreamError("MS-CLI-002", f"there is no file {file}.", found=f"searched in {Path.cwd()}")
    return file.name, pack(file)


def or_managed(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command that works on a job's folder the options for one that works at a manager, as `manager`."""

    @click.option("--manager", "url", metavar="URL", help=MANAGER_HELP)
    @click.option("--token", help="By default MILLSTREAM_TOKEN, or the token in the manager's folder.")
    @click.option("--wait/--no-wait", default=True, help="At a manager: wait until it is done.")
    @click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
    @functools.wraps(command)
    def call(*, url: str | None, token: str | None, wait: bool, as_json: bool, **others: Any) -> None:
        command(manager=Manager(url, token, wait, as_json), **others)

    return call


def followed(client: Client, name: str, operation: dict[str, Any], quiet: bool) -> dict[str, Any]:
    """An operation, when it has ended. Its steps are shown on stderr."""
    step = ""
    while operation["state"] == "running":
        if operation["step"] != step and not quiet:
            step = operation["step"]
            click.echo(f"{name}: {WORDS.get(step, step)}", err=True)
        time.sleep(LOOK)
        operation = client.get(f"/api/v1/jobs/{name}/operations/{operation['id']}")
    return operation


def settle(client: Client, name: str, operation: dict[str, Any], wait: bool, as_json: bool) -> None:
    """Follows an operation to its end, and shows the result."""
    if wait:
        operation = followed(client, name, operation, as_json or not sys.stderr.isatty())
    if as_json:
        click.echo(json.dumps(operation))
    elif operation["state"] == "failed":
        raise MillstreamError(
            "MS-MANAGER-013",
            f"{operation['kind']} of {name} failed: {operation['detail']}",
            hint=f"millstream logs {name}",
        )
    else:
        click.echo(f"{name}: {operation['detail'] or operation['kind'] + ' is under way'}")


def diff_at(manager: Manager, name: str, file: Path, chosen: Chosen) -> None:
    """The table of `millstream diff`, made where the job runs."""
    client = manager.client
    operation = followed(client, name, manager.send(name, "diff", sent(file), chosen.asked()), manager.as_json)
    if operation["state"] == "failed":
        settle(client, name, operation, False, False)
    result = client.get(f"/api/v1/jobs/{name}/operations/{operation['id']}/result")
    click.echo(json.dumps(result, indent=2) if manager.as_json else shown(result["changes"]))
    if not result["compatible"]:
        sys.exit(INCOMPATIBLE)


@click.command()
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@choices
@click.option("--entry", metavar="MODULE:NAME", help="For a project: what creates the job, or an entry point's name.")
@click.option("--within", default=180.0, show_default=True, metavar="SECONDS", help="Time to commit an epoch.")
@click.option("--env-file", type=click.Path(path_type=Path, exists=True), help="NAME=VALUE lines; else unchanged.")
@or_managed
def upgrade(
    name: str,
    file: Path,
    entry: str | None,
    chosen: Chosen,
    within: float,
    env_file: Path | None,
    manager: Manager,
) -> None:
    """Continue the job NAME, at a manager, with the new FILE: diff, stop, savepoint, restore, start.

    If the state does not fit, nothing happens to the job. If the new version fails, or commits no epoch in time, the
    old one continues from the same savepoint.
    """
    asked = {**chosen.asked(), "within_s": within}
    operation = manager.send(name, "upgrade", sent(file, entry), asked, env_file.read_text() if env_file else "")
    manager.settle(manager.client, name, operation)
