"""An epoch as a test: its rows, the state before it and what it wrote are data; the job is the user's file.

    test_epoch_7.py       the test
    test_epoch_7/         the state before the epoch, as the checkpoint has it

The test needs neither the job's checkpoint nor any system: its sources get the rows from it.
"""

from __future__ import annotations

import os
import pprint
import re
import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from millstream.api.job import Job
from millstream.errors import MillstreamError
from millstream.plan.nodes import Source
from millstream.planner.stages import plan_job
from millstream.replay.again import Replayed, outputs_of
from millstream.runtime.again import muted
from millstream.runtime.described import Described, read_checkpoint
from millstream.runtime.needs import jars_of
from millstream.runtime.requests import followed
from millstream.runtime.sandbox import copied, refuse_unknown
from millstream.spark import session
from millstream.spark.capture import Captured, records
from millstream.spark.memory import Memory
from millstream.spark.slots import Need
from millstream.testing.given import Item, Record, entries, script
from millstream.testing.swap import swapped
from millstream.testing.written import Written, in_order

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READ = ("json", "raw")
"""Formats of records that a test can contain."""
NEWER = re.compile(r"(\d+)_.*")
TEST = '''"""Epoch {epoch} of the job "{job}", as it ran: taken by `millstream replay`."""

from __future__ import annotations

from pathlib import Path

from millstream.testing import Delete, Record, Runner

HERE = Path(__file__).parent
INPUTS: dict[str, list[Record]] = {inputs}
EXPECTED: dict[str, list[dict[str, object] | Delete]] = {expected}


def test_epoch_{epoch}_of_{name}(millstream: Runner) -> None:
    found = millstream.replay(HERE / {file!r}, HERE / {state!r}, {epoch}, INPUTS)
    assert found == EXPECTED
'''


def write_test(job: Job, file: Path, epoch: int, target: Path, spark: SparkSession | None = None) -> Replayed:
    """Runs the epoch again, and writes it as a test."""
    plan = job.plan()
    refuse(job, [*plan.sources, *plan.statics], len(plan.statics))
    about = read_checkpoint(followed(job.checkpoint))
    refuse_unknown(about, epoch)
    with TemporaryDirectory(prefix="millstream-replay-", ignore_cleanup_errors=True) as folder:
        sandbox = copied(about, epoch, Path(folder))
        state = target.with_suffix("")
        keep_state(Path(folder), state, epoch)
        own = session.use(spark, Need(2), about.parallelism, jars_of(plan, job.checkpoint))
        inputs = {
            source.name: [record(one) for one in records(source.options.reader(), n, epoch, sandbox.folder, own)]
            for n, source in enumerate(plan.sources)
        }
        found = Replayed(job.name, epoch, outputs_of(job, muted(job._sinks), sandbox, epoch, spark))
    text = TEST.format(
        epoch=epoch,
        job=job.name,
        name=re.sub(r"\W", "_", job.name),
        inputs=pprint.pformat(inputs, width=110, sort_dicts=False),
        expected=pprint.pformat(sorted_outputs(found.outputs), width=110, sort_dicts=False),
        file=os.path.relpath(file.resolve(), target.resolve().parent),
        state=state.name,
    )
    target.write_text(text)
    return found


def refuse(job: Job, sources: Sequence[Source], statics: int) -> None:
    strange = next(
        (one for one in sources if one.options.format not in READ or one.options.reader().gives == "rows"), None
    )
    if strange is not None or statics:
        found = f'source "{strange.name}" has {strange.options.format}' if strange is not None else "a static source"
        raise MillstreamError(
            "MS-REPLAY-001",
            f'job "{job.name}" reads what a test cannot be given.',
            found=found,
            hint="a test can be given records of JSON or raw ones; without --to-test the epoch is run all the same",
        )


def record(one: Captured) -> Record:
    key, value = (None if part is None else readable(bytes(part)) for part in (one.key, one.value))
    return Record(value, key, None if one.timestamp is None else one.timestamp.isoformat())


def readable(data: bytes) -> bytes | str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def keep_state(sandbox: Path, state: Path, epoch: int) -> None:
    """What the epoch begins with: no state of later ones."""
    shutil.rmtree(state, ignore_errors=True)
    shutil.copytree(sandbox, state)
    for file in state.glob("spark/state/*/*/*"):
        newer = NEWER.fullmatch(file.name)
        if file.is_file() and newer is not None and int(newer.group(1)) > epoch:
            file.unlink()


def run_test(
    job: Job, state: Path, epoch: int, inputs: Mapping[str, Sequence[Item]], spark: SparkSession
) -> dict[str, list[Written]]:
    """The epoch again, with rows and state as data."""
    with TemporaryDirectory(prefix="millstream-test-", ignore_cleanup_errors=True) as folder:
        place = Path(folder) / "checkpoint"
        shutil.copytree(state, place)
        for number, at in ((epoch - 1, 0), (epoch, 1)):
            given_offsets(place / "spark" / "offsets" / str(number), at)
        shutil.rmtree(place / "spark" / "sources", ignore_errors=True)
        about = read_checkpoint(str(place))
        return sorted_outputs(given(job, about, epoch, inputs, spark))


def given_offsets(file: Path, at: int) -> None:
    if file.exists():
        lines = file.read_text().split("\n")
        file.write_text("\n".join([*lines[:2], *[str(at)] * len(lines[2:])]))


def given(
    job: Job, about: Described, epoch: int, inputs: Mapping[str, Sequence[Item]], spark: SparkSession
) -> dict[str, list[Written]]:
    test = f"{job.name}-{secrets.token_hex(4)}"
    plan = plan_job(swapped(job._sinks, test, set()))
    memory = Memory(test, spark)
    memory.give(script([None], {one.name: [entries(one, inputs.get(one.name, ()), 0)] for one in job.plan().sources}))
    try:
        return outputs_of(job, plan, about, epoch, spark)
    finally:
        memory.forget()


def sorted_outputs(outputs: dict[str, list[Written]]) -> dict[str, list[Any]]:
    return {sink: in_order(rows) for sink, rows in outputs.items()}
