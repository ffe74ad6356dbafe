"""Jobs over streams of Kinesis."""

from __future__ import annotations

import millstream as ms
from millstream import kinesis
from servers.aws import KEY
from servers.proxy import Proxy
from tests.crash.process import until
from tests.kinesis.conftest import Streams
from tests.reception.jobs import Jobs


def test_a_job_from_stream_to_stream(streams: Streams, jobs: Jobs) -> None:
    stream, out, bad = streams.create("in", 2), streams.create("out"), streams.create("bad")
    streams.send(stream, *({"n": n % 3} for n in range(30)), b"not json", key="k")
    job = jobs.job("write")
    parts = ("key", "shard", "sequence_number", "timestamp")
    rows = job.stream(kinesis.source(stream, record=parts, dead_letters=bad), "n BIGINT")
    counted = rows.where("shard IS NOT NULL AND CAST(key AS STRING) = 'k'").group_by("n").agg(count="count(*)")
    counted.to(kinesis.sink(out))
    assert "exactly once (by shard and sequence number)" in job.explain()
    jobs.run(job)
    reader = jobs.job("again")
    reader.table(kinesis.source(out), "n BIGINT, count BIGINT", key="n").to(jobs.out(changelog=True))
    jobs.run(reader)
    assert sorted((row["n"], row["count"]) for row in jobs.rows()) == [(0, 10), (1, 10), (2, 10)]


def test_two_sources_of_one_stream_each_read_all_of_it(streams: Streams, jobs: Jobs) -> None:
    stream = streams.create("orders")
    streams.send(stream, *({"n": n} for n in range(20)))
    job = jobs.job()
    for name in ("first", "second"):
        job.stream(kinesis.source(stream), "n BIGINT", name=name).to(jobs.out(name))
    jobs.run(job)
    assert [row["n"] for row in jobs.rows("first")] == [row["n"] for row in jobs.rows("second")] == list(range(20))


def test_in_real_time_while_connections_are_cut_shards_split_and_the_server_killed(
    streams: Streams, jobs: Jobs
) -> None:
    stream = streams.create("orders")
    with Proxy() as proxy:
        proxy.to = streams.server.port
        login = kinesis.secret(env="AWS_SECRET_ACCESS_KEY")
        endpoint = f"http://127.0.0.1:{proxy.port}"
        there = kinesis.account(region=streams.server.region, endpoint=endpoint, key=KEY, secret_key=login)
        run = jobs.copied(kinesis.source(stream, account=there)).start(
            ms.real_time("300 ms"), restarts=ms.fixed_delay(50, "200 ms"), spark=jobs.spark
        )

        def arrived(count: int) -> bool:
            run.poll(0)
            return len(jobs.rows("read")) >= count

        try:
            streams.send(stream, *({"n": n} for n in range(100)), key="one")
            until(lambda: arrived(100))
            streams.send(stream, *({"n": n} for n in range(100, 200)), key="one")
            proxy.cut()
            streams.split(stream, "shardId-000000000000")
            proxy.mend()
            streams.send(stream, *({"n": n} for n in range(200, 300)), key="one")
            until(lambda: arrived(300))
            streams.server.restart()
            streams.send(stream, *({"n": n} for n in range(300, 400)), key="one")
            until(lambda: arrived(400))
        finally:
            run.stop()
    assert [row["n"] for row in jobs.rows("read")] == list(range(400))
