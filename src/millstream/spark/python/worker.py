"""The conversation with the kernel, for one task.

kernel ─▶ what to run                       once
       ─▶ clock, groups, rows               a load: keys with their state, and their rows
       ◀─ a question about a large state    any number of times, each answered
       ◀─ D and the number skipped, rows, changes of state
       ─▶ nothing                           the end

Of a function without state, in real time, a load is rows, and the answer the number skipped, how many rows are still to
be given back, and rows. As long as there are such, the kernel asks for them, with loads of no rows.
"""

from __future__ import annotations

import pickle
import struct
import traceback
from typing import IO, Any

import pyarrow as pa

from millstream.spark.python.caller import InFlow
from millstream.spark.python.columns import ColumnRunner
from millstream.spark.python.failures import UserError
from millstream.spark.python.group import Ask
from millstream.spark.python.lanes import Lanes
from millstream.spark.python.rows import decoder, encode, from_stream, to_stream
from millstream.spark.python.runner import Runner
from millstream.spark.python.shapes import arrow
from millstream.spark.python.spec import ProcessSpec
from millstream.spark.python.values_only import ValuesOnly

FAILED = -1
AnyRunner = Runner | Lanes | ColumnRunner
RUNNERS: dict[bytes, tuple[AnyRunner, Line]] = {}
"""What this process has run before: it may be asked again in the next epoch."""
MOST = 16


class Line:
    """Messages: a length, then that many bytes."""

    def __init__(self) -> None:
        self.infile: IO[bytes]
        self.outfile: IO[bytes]

    def read(self) -> bytes:
        length = self.infile.read(4)
        if len(length) < 4:
            raise EOFError
        return self.infile.read(struct.unpack("!i", length)[0])

    def write(self, *messages: bytes) -> None:
        for message in messages:
            self.outfile.write(struct.pack("!i", len(message)))
            self.outfile.write(message)
        self.outfile.flush()

    def fail(self, text: str) -> None:
        self.outfile.write(struct.pack("!i", FAILED))
        self.write(text.encode())


def serve(infile: IO[bytes], outfile: IO[bytes]) -> None:
    line = Line()
    line.infile, line.outfile = infile, outfile
    step = "?"
    try:
        try:
            command = line.read()
        except EOFError:
            # Not 0: with 0 the process would ask again and again, although nothing is left to answer.
            raise SystemExit(1) from None
        spec: ProcessSpec | InFlow = pickle.loads(command)
        step = spec.step
        if isinstance(spec, InFlow):
            call(spec, line)
        else:
            work(prepared(command, spec, infile, outfile), line)
    except UserError as error:
        line.fail(str(error))
        raise SystemExit(1) from error
    except Exception as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        line.fail(f'MS-PROCESS-104: step "{step}" cannot be run in Python: {told}\n{traceback.format_exc()}')
        raise SystemExit(1) from error


def prepared(command: bytes, spec: ProcessSpec, infile: IO[bytes], outfile: IO[bytes]) -> AnyRunner:
    if command not in RUNNERS:
        while len(RUNNERS) >= MOST:
            del RUNNERS[next(iter(RUNNERS))]
        line = Line()
        RUNNERS[command] = runner(spec, asking(spec, line)), line
    known, line = RUNNERS[command]
    line.infile, line.outfile = infile, outfile
    return known


def runner(spec: ProcessSpec, ask: Ask) -> AnyRunner:
    if spec.batches:
        return ColumnRunner(spec)
    return Lanes(spec, ask) if spec.in_flight else ValuesOnly(spec, ask)


def work(process: AnyRunner, line: Line) -> None:
    while clock := line.read():
        watermark, now = struct.unpack("!qq", clock)
        groups, rows = from_stream(line.read()), from_stream(line.read())
        skipped, found, changed = process.run(watermark, now, groups, rows)
        line.write(b"D" + struct.pack("!q", skipped), found, changed)


def call(code: InFlow, line: Line) -> None:
    while rows := line.read():
        skipped, found = code.run(from_stream(rows))
        line.write(struct.pack("!qq", skipped, code.pending), to_stream(found.columns, found.schema))


def asking(spec: ProcessSpec, line: Line) -> Ask:
    maps = spec.of_kind("map")

    def ask(kind: str, group: int, which: int, key: Any) -> list[Any]:
        question = struct.pack("!cii", kind.encode(), group, which)
        if kind == "G":
            column = encode([key], arrow(maps[which].key_type))
            question += to_stream([column], pa_schema(column))
        line.write(question)
        batch = from_stream(line.read())
        columns = [decoder(part.type)(part) for part in batch.columns]
        return list(zip(*columns, strict=True))

    return ask


def pa_schema(column: pa.Array) -> pa.Schema:
    return pa.schema([pa.field("key", column.type)])
