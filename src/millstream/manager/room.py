"""Whether there is room for a job where it is to run, as far as that is known before it starts.

In real time all tasks run at once: too few slots are an error. Micro-batches make do with one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from millstream.errors import MillstreamError
from millstream.manager.hand_over import CLUSTER, check

if TYPE_CHECKING:
    from millstream.api.job import Job
    from millstream.plan.modes import Mode
    from millstream.spark.slots import Need

LOCAL = re.compile(r"local\[(\d+)(?:,\d+)?\]")


def room_for(job: Job, told: dict[str, Any], files_mode: Mode | None) -> str:
    """What is to be said of it when the job starts; an error if there is no room, and never will be.

    `told`: how it is to run. `files_mode`: the mode that its file names.
    """
    master = told["master"] or ""
    named = LOCAL.fullmatch(master)
    if named is None and (not master or master.startswith("local")):
        return ""
    need = need_of(job, told, files_mode)
    if not need.all_at_once:
        return ""
    if named is not None:
        need = need.at(master, {})
        refuse_too_few(master, int(named[1]), need, f"--master local[{need.slots}], or lower --parallelism")
        return ""
    return on_cluster(master, told["conf"], need, job.parallelism)


def refuse_driver_there(job: Job, told: dict[str, Any]) -> None:
    """Whatever is missing for a driver that is to run on the cluster."""
    if told["deploy_mode"] != CLUSTER:
        return
    from millstream.cli.place import no_driver_there
    from millstream.plan.cluster import by_number, cluster

    if told["master"] is None or not by_number(told["master"]):
        raise no_driver_there(told["master"])
    if not (told["shared_disk"] or job.shared_disk):
        raise MillstreamError(
            "MS-MANAGER-025",
            "the driver is to run on the cluster, and it is not said that it has the manager's folder there.",
            found="it reads the job's files in that folder, and reports into it",
            hint="keep the manager's folder (--home) on a disk that the cluster's machines mount at the same path, and "
            "submit with --shared-disk; or leave --deploy-mode out",
        )
    check(job, cluster(told["master"], conf=told["conf"], shared_disk=True))


def need_of(job: Job, told: dict[str, Any], files_mode: Mode | None) -> Need:
    from millstream.cli.run import chosen
    from millstream.plan.modes import RealTime
    from millstream.runtime.needs import addresses, jars_of, need
    from millstream.spark.session import prepare
    from millstream.spark.slots import Need
    from millstream.storage.files import scheme

    mode = chosen(told["mode"], told["every"]) or files_mode or job._default(None)
    if not isinstance(mode, RealTime):
        return Need(1)
    # Sources are asked how many partitions they have: some by a client that needs Spark's JVM.
    plan, at = job.plan(), job.checkpoint
    prepare(None, jars_of(plan, at), elsewhere=any(scheme(part) != "file" for part in addresses(plan, at)))
    return need(plan, mode, job.parallelism)


def on_cluster(master: str, conf: dict[str, str], need: Need, parallelism: int) -> str:
    from millstream.spark.ahead import from_file
    from millstream.spark.asked import asked
    from millstream.spark.standalone import SCHEME, CannotTell, room

    settings = {**from_file(), **conf}
    need = need.at(master, settings)
    wanted = f"the {need.least} task slots that real time needs at once"
    if not master.startswith(SCHEME):
        asked(master, settings, need, parallelism)  # an error if its own settings ask for too few
        return f"whether {master} has room for {wanted} shows when it gives executors"
    try:
        found = room(master, settings)
    except CannotTell as error:
        return f"{master} could not be asked whether it has {wanted} ({error})"
    refuse_too_few(master, found.slots, need, "add workers, or lower --parallelism")
    if found.free < need.least:
        return f"{found.free} of the {found.slots} task slots of {master} are free: it waits for {wanted}"
    return ""


def refuse_too_few(master: str, slots: int, need: Need, hint: str) -> None:
    if need.least > slots:
        raise MillstreamError(
            "MS-RUN-003",
            f"{need.told}, and {master} has {slots}.",
            hint=hint,
        )
