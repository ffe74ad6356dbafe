"""`python -m bench COMMAND`; `--help` lists the commands."""

from __future__ import annotations

import logging

import click

from bench import basics
from bench.nexmark import run as nexmark
from bench.nexmark.report import report


class Once(logging.Filter):
    """Lets each message through once: every job is built and run many times."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        new = message not in self.seen
        self.seen.add(message)
        return new


@click.group()
def main() -> None:
    """Counts CPU seconds, not wall time: machines are noisy."""
    logging.getLogger("millstream").addFilter(Once())


@main.command("basics")
@click.option("--events", default=1_000_000, help="How many events each case reads.")
@click.option("--rounds", default=3, help="How often each is measured; the median counts.")
@click.option("--only", default="", help="Some of: filter, aggregate, join, enrich.")
def run_basics(events: int, rounds: int, only: str) -> None:
    """A filter, a keyed aggregate, a join and a table's columns, against hand-written PySpark."""
    basics.run(events, rounds, tuple(part for part in only.split(",") if part))


@main.command("beside")
@click.argument("commit")
@click.option("--only", default="", help="Some of: filter, aggregate, join, enrich, q0, q3, q5, q8, q17, q20.")
@click.option("--events", default=1_000_000, help="How many events each case reads; a multiple of 2,000.")
@click.option("--warm-ups", default=3, help="How often each runs before it is measured.")
@click.option("--rounds", default=5, help="How often each is measured; the median counts.")
def run_beside(commit: str, only: str, events: int, warm_ups: int, rounds: int) -> None:
    """This version beside that of a commit, in turn: what has become cheaper, and what dearer."""
    from bench import beside

    beside.run(commit, tuple(part for part in only.split(",") if part), events, warm_ups, rounds)


@main.command("epochs")
@click.option("--rounds", default=3, help="How often each is measured; the median counts.")
def run_epochs(rounds: int) -> None:
    """What an epoch costs that has next to nothing to do, and an idle run in real time."""
    from bench import epochs

    epochs.run(rounds)


@main.command("rows")
@click.option("--events", default=2_000_000, help="How many events each case reads.")
@click.option("--warm-ups", default=3, help="How often each runs before it is measured.")
@click.option("--rounds", default=5, help="How often each is measured; the median counts.")
def run_rows(events: int, warm_ups: int, rounds: int) -> None:
    """What it costs that people may look at a job's rows."""
    from bench import rows

    rows.run(events, warm_ups, rounds)


@main.command("brokers")
@click.option("--messages", default=10_000, help="How many each source receives.")
@click.option("--rounds", default=3, help="How often each is measured; the median counts.")
def run_brokers(messages: int, rounds: int) -> None:
    """What receiving from a broker costs, beside the bare loop of its own client."""
    from bench import brokers

    brokers.run(messages, rounds)


@main.command("kafka")
@click.option("--events", default=1_000_000, help="How many events each way reads.")
@click.option("--rounds", default=3, help="How often each is measured; the median counts.")
def run_kafka(events: int, rounds: int) -> None:
    """From Kafka to Kafka, exactly once, beside Flink's exactly-once sink and Spark's own at-least-once one."""
    from bench import kafka

    kafka.run(events, rounds)


@main.command("savepoints")
@click.option("--keys", default=1_000_000, help="How many keys the job's state has.")
@click.option("--parallelism", default=2, help="Into how many parts its state is divided at first.")
@click.option("--flink/--no-flink", default=True, help="Whether Flink does the same beside it.")
@click.option("--latency", is_flag=True, help="Instead, how late rows are in real time while a savepoint is written.")
def run_savepoints(keys: int, parallelism: int, flink: bool, latency: bool) -> None:
    """A checkpoint, a savepoint, a restore and another parallelism of a job with many keys, beside Flink."""
    from bench import savepoints, savepoints_latency

    if latency:
        savepoints_latency.run(keys)
    else:
        savepoints.run(keys, parallelism, flink=flink)


@main.command("nexmark")
@click.option("--events", default=1_000_000, help="How many events; a multiple of 2,000.")
@click.option("--rounds", default=3, help="How often each is measured; 0: only judge the results.")
@click.option("--warm-ups", default=3, help="How often each runs before that.")
@click.option("--judged", default=100_000, help="By how many events, the first ones, results are judged.")
@click.option("--queries", default=",".join(nexmark.NAMES), help="Some of q0 to q23.")
@click.option("--against", default="flink,spark", help="Some of: flink, spark.")
@click.option("--judge-flink", is_flag=True, help="Lets DuckDB judge Flink's results, too; for few events.")
def run_nexmark(
    events: int, rounds: int, warm_ups: int, judged: int, queries: str, against: str, judge_flink: bool
) -> None:
    """The auction benchmark, results checked by DuckDB, beside Flink and hand-written PySpark."""
    chosen, rivals = (tuple(part for part in text.split(",") if part) for text in (queries, against))
    for option, number in (("--events", events), ("--judged", judged)):
        if number < 2000 or number % 2000:
            raise click.BadParameter("a multiple of 2,000 is needed", param_hint=option)
    for option, parts, known in (("--queries", chosen, nexmark.NAMES), ("--against", rivals, ("flink", "spark"))):
        unknown = [part for part in parts if part not in known]
        if unknown:
            raise click.BadParameter(f"there is no {', '.join(unknown)}", param_hint=option)
    wanted = nexmark.Wanted(chosen, events, rounds, rivals, judge_flink, warm_ups, judged)
    print(report(nexmark.run(wanted), wanted))


@main.command("latency")
@click.option("--cases", default="matches,through,journal", help="Some of these.")
@click.option("--rates", default="1000,10000", help="Records per second.")
@click.option("--every", default="1,5", help="Seconds between two checkpoints.")
@click.option("--engines", default="millstream,flink", help="Some of these.")
@click.option("--seconds", default=30, help="How long each is measured.")
@click.option("--warm-up", default=60, help="Seconds of load before that.")
@click.option("--picture", type=click.Path(), help="Where to draw what is known, as SVG.")
def run_latency(
    cases: str, rates: str, every: str, engines: str, seconds: int, warm_up: int, picture: str | None
) -> None:
    """Likes become matches, and rows pass through, from topic to topic, beside Flink: how late, and at what cost.

    Results of earlier runs are kept and shown with the rest, so a long run can be made of short ones.
    """
    from bench.latency import command

    command.run(cases, rates, every, engines, seconds, warm_up, picture)


@main.command("process")
@click.option("--rows", default=1_000_000, help="How many rows each way reads.")
@click.option("--rounds", default=1, help="How often each is measured, after a warm-up; the median counts.")
@click.option("--only", default="", help='Some of the ways, by parts of their names: "keyed;bytewax".')
def run_process(rows: int, rounds: int, only: str) -> None:
    """Python code, beside hand-written PySpark, PyFlink, Bytewax and Quix: CPU seconds per million rows."""
    from bench.process import command

    command.run(rows, rounds, tuple(part for part in only.split(";") if part))


@main.command("storage")
@click.option("--epochs", default=20, help="Of each measured run.")
@click.option("--rounds", default=3, help="How often each is measured; the cheapest counts.")
def run_storage(epochs: int, rounds: int) -> None:
    """An epoch on HDFS and S3, beside one on a local disk: CPU seconds and requests."""
    from bench import storage

    storage.run(epochs, rounds)


@main.command("scale")
@click.option("--rows", default=400_000, help="How many are read at each parallelism.")
@click.option("--keys", default=1_500_000, help="How many have state in the end, about a kilobyte each.")
@click.option("--parallelism", default="1,2,4,8,16", help="Which ones.")
def run_scale(rows: int, keys: int, parallelism: str) -> None:
    """How cost grows with parallelism and with state, on four executors; drawn into bench/scale.svg."""
    from bench import scale

    scale.run(rows, keys, tuple(int(part) for part in parallelism.split(",")))


if __name__ == "__main__":
    main()
