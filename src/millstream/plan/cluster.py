"""Where a job runs: a Spark master, and what is sent to its machines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from millstream.errors import MillstreamError
from millstream.plan.errors import here
from millstream.plan.modes import milliseconds

MASTERS = re.compile(r"local(\[.*\])?|local-cluster\[.*\]|spark://.+|yarn|k8s://.+")
SLOTS_WITHIN = "1 minute"
CONNECT = "sc://"
DEPLOY_MODE = "spark.submit.deployMode"
SHOWS_ROWS = "spark.millstream.rows"
"""The setting of Spark's that lets people look at a few of the rows that pass, while the job runs."""
CLASSIC = (
    'use a classic session, which this process starts itself: ms.cluster("spark://…"), spark-submit, or '
    "SparkSession.builder.master(…). Platforms that offer Spark Connect alone, such as serverless compute and shared "
    "clusters of Databricks, cannot run Millstream"
)


@dataclass(frozen=True)
class Cluster:
    """`ms.cluster(…)`. Without a master: the one that spark-submit or Spark's own settings name."""

    master: str | None = None
    conf: tuple[tuple[str, str], ...] = ()
    environment: str | None = None
    shared_disk: bool = False
    slots_within_ms: int = milliseconds(SLOTS_WITHIN)

    @property
    def settings(self) -> dict[str, str]:
        return dict(self.conf)

    def under(self, above: Cluster | None) -> Cluster:
        """The same, overridden by what another one says."""
        if above is None:
            return self
        return replace(
            self,
            master=above.master or self.master,
            conf=tuple({**self.settings, **above.settings}.items()),
            environment=above.environment or self.environment,
            shared_disk=above.shared_disk or self.shared_disk,
        )


def cluster(
    master: str | None = None,
    *,
    conf: Mapping[str, str] | None = None,
    environment: str | None = None,
    shared_disk: bool = False,
    slots_within: str = SLOTS_WITHIN,
) -> Cluster:
    """Where a job runs: `job.run(on=ms.cluster("spark://host:7077"))`.

    `master`: as Spark names it; by default the one of spark-submit or of Spark's own settings. `conf`: Spark's settings
    by name. `environment`: an archive from `millstream pack`, for Python code on the machines. `shared_disk`: whether
    all machines share the local folders. `slots_within`: how long to wait for the cluster to provide enough task slots.
    """
    if master is not None:
        refuse_unknown(master)
    given = tuple((str(name), str(value)) for name, value in (conf or {}).items())
    refuse_settings(dict(given))
    return Cluster(master, given, environment, shared_disk, milliseconds(slots_within))


def refuse_settings(given: Mapping[str, str]) -> None:
    """Those that are said by themselves."""
    if "spark.master" in given:
        raise MillstreamError(
            "MS-CLUSTER-001", "conf names a master.", at=here(), hint='say it by itself: ms.cluster("spark://…")'
        )
    if given.get(DEPLOY_MODE) == "cluster":
        raise MillstreamError(
            "MS-CLUSTER-006",
            "conf wants the driver on the cluster, and a Python program that runs a job is its driver.",
            at=here(),
            hint="millstream run --deploy-mode cluster FILE hands the file over; so does spark-submit",
        )


def refuse_unknown(master: str) -> None:
    if master.startswith(CONNECT):
        raise connect(f"the master {master}")
    if MASTERS.fullmatch(master) is None:
        raise MillstreamError(
            "MS-CLUSTER-001",
            f"{master!r} is not the address of a Spark master.",
            at=here(),
            hint="spark://host:7077, yarn, k8s://https://host:443 or local[4]",
        )


def connect(what: str) -> MillstreamError:
    """Its sessions have no JVM in this process, from which the kernels are started."""
    return MillstreamError(
        "MS-CLUSTER-003", f"{what} is Spark Connect's, which Millstream cannot run on.", at=here(), hint=CLASSIC
    )


def by_number(master: str) -> bool:
    """Whether it gives as many executors as it is asked for: YARN and Kubernetes."""
    return master == "yarn" or master.startswith("k8s://")


def is_local(master: str | None) -> bool:
    """Whether driver and tasks are one process of this machine."""
    return master is not None and (master == "local" or master.startswith("local["))
