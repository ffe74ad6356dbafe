"""The commands that speak to a manager: submit, list, status, logs, start, stop, cancel, metrics."""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from millstream.cli.operated import sent, settle
from millstream.cli.restore_choices import Chosen, choices
from millstream.cli.run import MODES
from millstream.manager.client import Client
from millstream.manager.policy import WRITTEN
from millstream.manager.records import Spec
from millstream.metrics.text import size, span

NONE = "–"
CONSOLE = Console(highlight=False)
ENDED = ("running", "finished", "failed", "cancelled", "suspended")


def managed(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options that say which manager, as `client`."""

    @click.option("--manager", "url", metavar="URL", help="By default MILLSTREAM_MANAGER, or the one on this machine.")
    @click.option("--token", help="By default MILLSTREAM_TOKEN, or the token in the manager's folder.")
    @functools.wraps(command)
    def call(*, url: str | None, token: str | None, **others: Any) -> None:
        command(client=Client(url, token), **others)

    return call


JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--mode", type=click.Choice(MODES), help="By default the file's own, or one that the job can run in.")
@click.option("--every", metavar="TIME", help="How long an epoch lasts: 200ms, 5s.")
@click.option("--master", metavar="URL", help="Where to run: spark://host:7077, yarn, k8s://…, local[4].")
@click.option(
    "--deploy-mode",
    type=click.Choice(("client", "cluster")),
    help="client: the driver runs where the manager is; cluster: on a machine of YARN or Kubernetes.",
)
@click.option("--conf", metavar="NAME=VALUE", multiple=True, help="A Spark setting; repeatable.")
@click.option("--parallelism", type=click.IntRange(1), help="The number of parts to divide state into.")
@click.option("--restarts", default="exponential", show_default=True, help=f"When its driver dies: {WRITTEN}.")
@click.option("--checkpoint", metavar="DIR", help="Where the job keeps its progress and state.")
@click.option("--shared-disk", is_flag=True, help="All machines share the local folders.")
@click.option("--env-file", type=click.Path(path_type=Path, exists=True), help="NAME=VALUE lines, kept secret.")
@click.option("--folder", help="The driver's working folder; with a manager on this machine, by default this one.")
@click.option("--hung-after", type=float, default=600.0, show_default=True, help="Seconds an epoch may take.")
@click.option("--entry", metavar="MODULE:NAME", help="For a project: what creates the job, or an entry point's name.")
@click.option("--savepoint", metavar="PATH", help="Start with the state in this savepoint.")
@choices
@click.option("--fork", is_flag=True, help="Leave the saved job as it is: this one writes elsewhere.")
@click.option("--wait/--no-wait", default=True, help="Wait until the job runs or has failed.")
@managed
@JSON
def submit(
    client: Client,
    file: Path,
    entry: str | None,
    savepoint: str | None,
    chosen: Chosen,
    fork: bool,
    conf: tuple[str, ...],
    env_file: Path | None,
    folder: str | None,
    hung_after: float,
    wait: bool,
    as_json: bool,
    **spec: Any,
) -> None:
    """Hand the job in FILE to a manager, which runs it and restarts it when its driver dies.

    Modules beside FILE that it imports are sent along. If FILE declares its packages in a `# /// script` comment, the
    manager installs them. FILE may also be the folder of a project, with --entry.
    """
    from millstream.cli.place import pair

    name, packed = sent(file, entry)

    told = Spec(
        conf=dict(pair(each) for each in conf),
        folder=folder or (str(Path.cwd()) if client.local else None),
        hung_after_s=hung_after,
        **spec,
    )
    asked = {"savepoint": savepoint, **chosen.asked(), "fork": fork}
    fields = {"file": name, "spec": json.dumps(asdict(told)), "asked": json.dumps(asked)}
    fields["env"] = env_file.read_text() if env_file else ""
    job = client.upload("/api/v1/jobs", packed, fields)
    operation = job["operations"][-1]
    if not as_json:
        click.echo(f"{job['name']}: submitted, version {job['version']}")
    if operation["note"] and not as_json:
        click.echo(f"{job['name']}: {operation['note']}", err=True)
    settle(client, job["name"], operation, wait, as_json)


@click.command("list")
@managed
@JSON
def list_jobs(client: Client, as_json: bool) -> None:
    """List all jobs and their states."""
    found = client.get("/api/v1/jobs", limit=1000)["items"]
    if as_json:
        click.echo(json.dumps(found))
        return
    if not found:
        click.echo("no jobs yet: millstream submit job.py")
        return
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("job", "state", "behind", "in/s", "out/s", "epoch", "state size", "restarts"):
        table.add_column(title, justify="left" if title in ("job", "state") else "right", no_wrap=True)
    for each in found:
        table.add_row(each["name"], word(each), *(text for text in figures(each)))
    CONSOLE.print(table)


def word(each: dict[str, Any]) -> str:
    colour = {"healthy": "green", "held back": "yellow", "failing": "red"}.get(each["health"], "dim")
    shown = each["health"] if each["health"] == "held back" else each["state"]
    return f"[{colour}]{shown}[/{colour}]"


def figures(each: dict[str, Any]) -> list[str]:
    def shown(value: Any, text: Callable[[Any], str]) -> str:
        return NONE if value is None else text(value)

    return [
        shown(each["behind_ms"], span),
        shown(each["rate_in"], lambda rate: f"{rate:,.0f}"),
        shown(each["rate_out"], lambda rate: f"{rate:,.0f}"),
        shown(each["epoch"], lambda epoch: f"{epoch:,}"),
        shown(each["state_bytes"], size),
        str(each["restarts"]),
    ]


@click.command()
@click.argument("name")
@managed
@JSON
def status(client: Client, name: str, as_json: bool) -> None:
    """Show the state of a job, and how it got there."""
    shown, job = client.get(f"/api/v1/jobs/{name}/status"), client.get(f"/api/v1/jobs/{name}")
    if as_json:
        click.echo(json.dumps({**job, "status": shown}))
        return
    behind, rate_in, rate_out, epoch, state, restarts = figures(shown)
    CONSOLE.print(f"[bold]{name}[/bold] {word(shown)}  version {job['version']}, run {shown['run']}")
    CONSOLE.print(
        f"behind {behind}   in {rate_in}/s   out {rate_out}/s   epoch {epoch}   state {state}   restarts {restarts}"
    )
    for move in job["moves"][-8:]:
        CONSOLE.print(f"  {clock(move['at'])}  {move['after']:<11} {move['reason']}", markup=False, soft_wrap=True)
    if shown["trouble"]:
        CONSOLE.print(problem(shown["trouble"]), markup=False, soft_wrap=True)


def problem(told: dict[str, Any]) -> str:
    lines = [f"{told['code']}: {told['message']}"]
    lines += [f"  at:    {told['place']}"] if told["place"] else []
    lines += [f"  found: {told['found']}"] if told["found"] else []
    lines += [f"  hint:  {told['hint']}"] if told["hint"] else []
    return "\n".join(lines)


def clock(millis: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(millis / 1000))


@click.command()
@click.argument("name")
@click.option("-f", "--follow", is_flag=True, help="Keep printing new lines until Ctrl-C.")
@click.option("--lines", type=click.IntRange(1, 100_000), default=100, show_default=True)
@click.option("--run", type=click.IntRange(1), help="Show the log of an earlier run.")
@managed
def logs(client: Client, name: str, follow: bool, lines: int, run: int | None) -> None:
    """Show what a job's driver writes."""
    click.echo(client.text(f"/api/v1/jobs/{name}/logs", lines=lines, run=run), nl=False)
    for line in client.follow(f"/api/v1/jobs/{name}/logs/follow", run=run) if follow else ():
        click.echo(line)


@click.command()
@click.argument("name")
@click.option(
    "--savepoint",
    metavar="[PATH]",
    is_flag=False,
    flag_value="",
    help="Save its state to the new folder PATH, or beside its checkpoint.",
)
@click.option("--wait/--no-wait", default=True, help="Wait until it is done.")
@managed
@JSON
def stop(client: Client, name: str, savepoint: str | None, wait: bool, as_json: bool) -> None:
    """Stop a job between two epochs; start continues from there.

    If a savepoint was requested but fails, the job keeps running.
    """
    asked = None if savepoint is None else {"savepoint": True, "path": savepoint or None}
    settle(client, name, client.post(f"/api/v1/jobs/{name}/stop", asked), wait, as_json)


def operated(kind: str, help: str) -> click.Command:
    @click.command(kind, help=help)
    @click.argument("name")
    @click.option("--wait/--no-wait", default=True, help="Wait until it is done.")
    @managed
    @JSON
    def command(client: Client, name: str, wait: bool, as_json: bool) -> None:
        settle(client, name, client.post(f"/api/v1/jobs/{name}/{kind}"), wait, as_json)

    return command


start = operated("start", "Start a job again, from its last committed epoch.")
cancel = operated("cancel", "Cancel a job at once; what is committed stays.")


@click.command()
@click.argument("name")
@managed
@click.confirmation_option(prompt="Its record, files and logs are deleted; its checkpoint stays. Go on?")
def forget(client: Client, name: str) -> None:
    """Delete what the manager knows about a job that is not running."""
    client.delete(f"/api/v1/jobs/{name}")
    click.echo(f"{name}: forgotten")


@click.command()
@click.argument("name", required=False)
@managed
@JSON
def metrics(client: Client, name: str | None, as_json: bool) -> None:
    """Show the metrics that a job last reported; without a name, those of all jobs, in Prometheus format."""
    if name is None:
        click.echo(client.text("/metrics"), nl=False)
        return
    told = client.get(f"/api/v1/jobs/{name}/metrics")
    if as_json:
        click.echo(json.dumps(told))
        return
    figures = told.get("metrics") or {}
    table = Table(box=None, pad_edge=False, header_style="dim")
    for title in ("", "name", "rows in", "rows out", "lag", "late", "state"):
        table.add_column(title, justify="left" if title in ("", "name") else "right")
    for each in figures.get("sources", ()):
        table.add_row(
            "source", each["name"], f"{each['rows']:,}", "", NONE if each["lag"] is None else f"{each['lag']:,}"
        )
    for each in figures.get("operators", ()):
        kept = NONE if each["state_bytes"] is None else size(each["state_bytes"])
        table.add_row(
            "step", each["name"], f"{each['rows_in']:,}", f"{each['rows_out']:,}", "", f"{each['late']:,}", kept
        )
    for each in figures.get("sinks", ()):
        table.add_row("sink", each["name"], "", f"{each['rows']:,}")
    CONSOLE.print(table)


@click.command()
@managed
@JSON
def managers(client: Client, as_json: bool) -> None:
    """List the managers, and which one leads."""
    found = client.get("/api/v1/cluster")
    if as_json:
        click.echo(json.dumps(found))
        return
    for each in found:
        click.echo(f"{each['url']}  {'leads' if each['leads'] else 'stands by'}  {each['host']}, pid {each['pid']}")
