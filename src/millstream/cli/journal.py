"""`millstream journal`: topics from the command line, records as JSON lines."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import select
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import click
from rich.console import Console
from rich.table import Table

from millstream import journal as log
from millstream.errors import MillstreamError
from millstream.journal.reader import Isolation, Start
from millstream.journal.topics import TOMBSTONES, open_topic

WRITER = {True: "yes", False: "no", None: "unknown"}
_PIPE_BYTES = 64 * 1024
_WAIT = 0.2

_path = click.option(
    "--path",
    envvar="MILLSTREAM_JOURNAL",
    default="./journal",
    show_default=True,
    help="The journal: a folder, hdfs://… or s3a://…; by default $MILLSTREAM_JOURNAL.",
)


@click.group()
def journal() -> None:
    """The embedded log: create topics, append to them, read them."""


@journal.command()
@click.argument("topic")
@_path
@click.option("--partitions", default=1, show_default=True, help="How many partitions it has, for good.")
@click.option("--keep", metavar="TIME", help='For how long records stay: "7 days". All of them if not given.')
@click.option("--keep-bytes", type=click.IntRange(min=1), help="How much of each partition stays.")
@click.option("--compact", is_flag=True, help="Of each key only the newest record stays: for tables.")
@click.option(
    "--tombstones", metavar="TIME", default=TOMBSTONES, show_default=True, help="For how long a deletion stays."
)
def create(
    topic: str, path: str, partitions: int, keep: str | None, keep_bytes: int | None, compact: bool, tombstones: str
) -> None:
    """Create TOPIC."""
    log.create(path, topic, partitions, keep=keep, keep_bytes=keep_bytes, compact=compact, tombstones=tombstones)
    click.echo(f"topic {topic} created in {path}, partitions: {partitions}")


@journal.command()
@click.argument("topic")
@_path
def trim(topic: str, path: str) -> None:
    """Delete what TOPIC need not keep, now. Its writers also do this from time to time."""
    click.echo(f"{log.trim(path, topic)} segments of {topic} deleted")


@journal.command()
@click.argument("topic")
@_path
def compact(topic: str, path: str) -> None:
    """Compact TOPIC now. Whoever writes to it does so when it is worth it."""
    click.echo(f"{log.compact(path, topic)} records of {topic} deleted")


# --- append


@journal.command()
@click.argument("topic")
@_path
@click.option("--key", metavar="FIELD", help="The field to use as the record's key.")
def append(topic: str, path: str, key: str | None) -> None:
    """Append JSON lines from stdin to TOPIC."""
    with log.producer(path, topic) as out:
        appended, refused = _append_lines(out, sys.stdin.buffer, key)
    click.echo(f"{appended} appended to {topic}")
    if refused is not None:
        raise refused


def _append_lines(out: log.Producer, stdin: BinaryIO, field: str | None) -> tuple[int, MillstreamError | None]:
    appended = 0
    for number, line in enumerate(_lines(stdin, out.flush), start=1):
        if not line.strip():
            continue
        try:
            key = _key_of(line, number, field)
        except MillstreamError as refused:
            return appended, refused
        out.send(line.strip(), key=key)
        appended += 1
    return appended, None


def _lines(stdin: BinaryIO, when_idle: Callable[[], None]) -> Iterator[bytes]:
    """Lines as they come. Before waiting for more, makes what was read durable."""
    rest = b""
    while data := _read_some(stdin):
        *lines, rest = (rest + data).split(b"\n")
        yield from lines
        if not _is_ready(stdin):
            when_idle()
    if rest:
        yield rest


def _read_some(stdin: BinaryIO) -> bytes:
    read1 = getattr(stdin, "read1", stdin.read)
    return bytes(read1(_PIPE_BYTES))


def _is_ready(stdin: BinaryIO) -> bool:
    try:
        return bool(select.select([stdin.fileno()], [], [], 0)[0])
    except (OSError, ValueError):
        return True  # not a real file


def _key_of(line: bytes, number: int, field: str | None) -> str | None:
    """The key of a line that is JSON; other lines are refused."""
    try:
        value = json.loads(line.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        why = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise _refused(f"line {number} is not JSON.", line, why) from None
    if field is None:
        return None
    if not isinstance(value, dict) or field not in value:
        raise _refused(f'line {number} has no field "{field}" to be its key.', line, "every line needs one")
    key = value[field]
    return key if key is None or isinstance(key, str) else _compact(key)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"JSON has no {name}")


def _refused(message: str, line: bytes, why: str) -> MillstreamError:
    text = line.decode(errors="replace")
    shown = text if len(text) <= 80 else text[:79] + "…"
    hint = f"{why}. The lines before it were appended."
    return MillstreamError("MS-JOURNAL-013", message, found=shown, hint=hint)


# --- read


@journal.command()
@click.argument("topic")
@_path
@click.option("--follow", is_flag=True, help="Wait for new records.")
@click.option(
    "--isolation",
    type=click.Choice(["read_committed", "read_uncommitted"]),
    default="read_committed",
    show_default=True,
)
@click.option("--start", default="earliest", show_default=True, help="earliest, latest, 7, or 0:7,1:9 by partition.")
@click.option("--limit", type=click.IntRange(min=0), help="End after this many records.")
@click.option("--meta", is_flag=True, help="Also show partition, offset, timestamp, key and headers.")
def read(topic: str, path: str, follow: bool, isolation: Isolation, start: str, limit: int | None, meta: bool) -> None:
    """Read TOPIC as JSON lines."""
    place = _start(start, open_topic(path, topic).partitions)
    show = _with_meta if meta else _value_text
    with log.Reader(path, topic, start=place, isolation=isolation, bounded=not follow) as reader:
        try:
            _print_all(reader, follow, limit, show)
        except BrokenPipeError:
            # The reader has enough. Python flushes once more at its end: give it another stdout for that.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except KeyboardInterrupt:
            pass


def _print_all(reader: log.Reader, follow: bool, limit: int | None, show: Callable[[log.Record], str]) -> None:
    stdout = sys.stdout.buffer
    printed = 0
    while limit is None or printed < limit:
        records = reader.poll(_WAIT if follow else 0)
        if not records and (not follow or _is_hung_up(stdout)):
            return
        if limit is not None:
            del records[limit - printed :]
        stdout.write("".join(show(record) + "\n" for record in records).encode())
        stdout.flush()
        printed += len(records)


def _is_hung_up(stdout: BinaryIO) -> bool:
    """Whether the other end of the pipe is gone; otherwise only the next record would show it."""
    try:
        pipe = select.poll()
        pipe.register(stdout.fileno(), 0)
        return any(event & select.POLLERR for _, event in pipe.poll(0))
    except (OSError, ValueError):
        return False


def _start(text: str, partitions: int) -> Start:
    if text == "earliest":
        return "earliest"
    if text == "latest":
        return "latest"
    try:
        if text.isdigit() and partitions == 1:
            return {0: int(text)}
        pairs = (pair.split(":") for pair in text.split(","))
        return {int(partition): int(offset) for partition, offset in pairs}
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is neither earliest, latest, nor offsets by partition such as 0:7,1:9.",
            param_hint="--start",
        ) from None


def _value_text(record: log.Record) -> str:
    """The value as one line of JSON: itself, a string if it is other text, base64 if it is not text."""
    value = record.value
    if value is None:
        return "null"
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return _compact(_bytes_shown(value))
    try:
        loaded = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return _compact(text)
    return _compact(loaded) if "\n" in text or "\r" in text else text


def _with_meta(record: log.Record) -> str:
    fields = {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _bytes_shown(record.key),
        "headers": [[name, _bytes_shown(value)] for name, value in record.headers],
        "committed": record.committed,
    }
    return f'{_compact(fields)[:-1]},"value":{_value_text(record)}}}'


def _bytes_shown(data: bytes | None) -> str | dict[str, str] | None:
    try:
        return None if data is None else data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data or b"").decode()}


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


# --- describe


@journal.command()
@click.argument("topic", required=False)
@_path
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def describe(topic: str | None, path: str, as_json: bool) -> None:
    """Show what TOPIC holds, or every topic."""
    found = [log.describe(path, name) for name in ([topic] if topic else log.topics(path))]
    if as_json:
        shown = [_plain(info) for info in found]
        click.echo(json.dumps(shown[0] if topic else shown, indent=2))
    elif not found:
        click.echo(f"no topics in journal {path}")
    else:
        _print_table(found)


def _plain(info: log.TopicInfo) -> dict[str, Any]:
    partitions = [{**dataclasses.asdict(p), "records": p.records} for p in info.partitions]
    return {
        **dataclasses.asdict(info),
        "partitions": partitions,
        "records": info.records,
        "bytes": info.bytes,
    }


def _print_table(found: list[log.TopicInfo]) -> None:
    table = Table("topic", "partition", box=None)
    for column in ("start", "end", "records", "bytes", "segments"):
        table.add_column(column, justify="right")
    table.add_column("writer")
    for info in found:
        for p in info.partitions:
            numbers = (f"{n:,}" for n in (p.start, p.end, p.records, p.bytes, p.segments))
            table.add_row(info.topic, str(p.partition), *numbers, WRITER[p.writer])
    console = Console(highlight=False, markup=False)
    console.print(table)
