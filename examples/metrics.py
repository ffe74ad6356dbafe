"""A thousand machines report their load, and three people want to see it, each in another way.

The archive wants buckets of a minute that follow one another: each once, when it is complete. The graph should not
jump, and wants buckets of three minutes, a new one every minute. The alarm wants the last minute at any time: a report
counts as soon as it comes, and until it is a minute old.

    $ python examples/metrics.py
    the archive
      12:00 a 20.0
      12:01 a 60.0
    the graph
      11:58 to 12:01 a 20.0
      11:59 to 12:02 a 40.0
      12:00 to 12:03 a 40.0
      12:01 to 12:04 a 60.0
    the alarm
      a 50.0, when it is 12:01:05
      a 60.0, when it is 12:02:00
"""

import millstream as ms
from millstream import journal

job = ms.Job("metrics")

metrics = job.stream(
    journal.source("metrics"), schema="host STRING, cpu DOUBLE, at TIMESTAMP", time="at", lateness="10 seconds"
)

per_minute = metrics.window(ms.tumbling("1 minute")).group_by("host").agg(cpu="avg(cpu)")
per_minute.final().to(journal.sink("per_minute"))

graph = metrics.window(ms.hopping("3 minutes", every="1 minute")).group_by("host").agg(cpu="avg(cpu)")
graph.to(journal.sink("graph"))

alarm = metrics.window(ms.sliding("1 minute")).group_by("host").agg(cpu="avg(cpu)")
alarm.to(journal.sink("alarm"))

if __name__ == "__main__":
    from millstream.testing import Watermark, run

    reports = [("12:00:05", 10.0), ("12:00:25", 30.0), ("12:01:05", 60.0), ("12:01:15", 60.0)]
    rows = [{"host": "a", "cpu": cpu, "at": f"2026-01-01T{clock}Z"} for clock, cpu in reports]
    result = run(job, {"metrics": [rows, [Watermark("2026-01-01T12:02:00Z")]]})
    print("the archive")
    for row in result["per_minute"].rows:
        print(f"  {row['window_start'][11:16]} {row['host']} {row['cpu']}")
    print("the graph")
    for row in result["graph"].rows:
        print(f"  {row['window_start'][11:16]} to {row['window_end'][11:16]} {row['host']} {row['cpu']}")
    print("the alarm")
    for time, rows in zip(("12:01:05", "12:02:00"), result["alarm"].tables, strict=True):
        for row in rows:
            print(f"  {row['host']} {row['cpu']}, when it is {time}")
