"""Millstream's side: reads from its input which job to start, and when to stop it."""

from __future__ import annotations

import json
import sys

import millstream as ms
from bench.latency.engines import PARALLELISM
from bench.latency.places import SCHEMA, Case, Place
from millstream import journal, kafka
from millstream.plan.connectors import Jars
from millstream.spark import session


def job(case: Case, source: Place, sink: Place, work: str) -> ms.Job:
    made = ms.Job("latency", checkpoint=f"{work}/checkpoint", parallelism=PARALLELISM)
    if source.servers and sink.servers:
        likes = made.stream(kafka.source(source.topic, servers=source.servers), SCHEMA)
        out: kafka.KafkaSink | journal.JournalSink = kafka.sink(sink.topic, servers=sink.servers)
    else:
        likes = made.stream(journal.source(source.topic, path=source.path), SCHEMA)
        out = journal.sink(sink.topic, path=sink.path)
    if not case.matches:
        likes.select("id", "sent").to(out)
        return made
    both = likes.as_("a").join(likes.as_("b"), on="a.liker = b.liked AND a.liked = b.liker")
    both.where("a.liker < a.liked").select("a.id", sent="greatest(a.sent, b.sent)").to(out)
    return made


def main() -> None:
    spark = session.make(8, PARALLELISM, {}, (Jars(kafka.JARS),))
    print("done", flush=True)
    run = None
    for line in sys.stdin:
        if line.strip() == "stop":
            assert run is not None
            run.stop()
        else:
            told = json.loads(line)
            case = Case(**told["case"])
            made = job(case, Place(**told["source"]), Place(**told["sink"]), told["work"])
            run = made.start(ms.real_time(f"{case.every} seconds"), spark=spark)
        print("done", flush=True)


if __name__ == "__main__":
    main()
