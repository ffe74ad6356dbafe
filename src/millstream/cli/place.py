"""The options that say where a job runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from millstream.errors import MillstreamError
from millstream.plan.cluster import Cluster, by_number, cluster

OPTIONS = (
    click.option("--master", metavar="URL", help="Where to run: spark://host:7077, yarn, k8s://…, local[4]."),
    click.option(
        "--deploy-mode",
        type=click.Choice(("client", "cluster")),
        help="client: the driver runs here; cluster: on a machine of YARN or Kubernetes.",
    ),
    click.option("--conf", metavar="NAME=VALUE", multiple=True, help="A Spark setting; repeatable."),
    click.option("--parallelism", type=click.IntRange(1), help="The number of parts to divide state into."),
    click.option("--environment", metavar="FILE", help="Packages for executors: an archive from `millstream pack`."),
    click.option("--shared-disk", is_flag=True, help="All machines share the local folders."),
)


def placed(command: Callable[..., None]) -> Callable[..., None]:
    """Gives a command these options, as `on`, `driver_there` and `parallelism`."""

    @functools.wraps(command)
    def call(
        *,
        master: str | None,
        deploy_mode: str | None,
        conf: tuple[str, ...],
        environment: str | None,
        shared_disk: bool,
        **others: Any,
    ) -> None:
        settings = dict(pair(one) for one in conf)
        on: Cluster = cluster(master, conf=settings, environment=environment, shared_disk=shared_disk)
        there = deploy_mode == "cluster"
        if there and (master is None or not by_number(master)):
            raise no_driver_there(master)
        command(on=on, driver_there=there, **others)

    for option in reversed(OPTIONS):
        call = option(call)
    return call


def pair(setting: str) -> tuple[str, str]:
    name, sign, value = setting.partition("=")
    if not sign or not name.strip():
        raise click.UsageError(f"--conf {setting}: write it as NAME=VALUE.")
    return name.strip(), value


def no_driver_there(master: str | None) -> MillstreamError:
    standalone = master is not None and master.startswith("spark://")
    return MillstreamError(
        "MS-CLUSTER-006",
        "--deploy-mode cluster wants the driver on the cluster, and "
        + (
            "Spark starts no Python driver on a standalone cluster."
            if standalone
            else "no cluster is named that can run it."
        ),
        hint="leave the option out: the driver then runs on this machine"
        if standalone
        else "--master yarn or --master k8s://…",
    )
