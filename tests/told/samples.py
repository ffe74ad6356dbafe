"""The settings of operators, by example. `golden/<kind>.json` is the JSON, which the kernels' tests read, too."""

from __future__ import annotations

from millstream.spark.lower.told import (
    AccumulatorTold,
    AggregateTold,
    AsOfTold,
    CollapseTold,
    CountedJoinTold,
    DedupTold,
    EnrichTold,
    GroupEnds,
    HoppingTold,
    JoinTold,
    LateRowsTold,
    LatestTold,
    LifetimeTold,
    ListTold,
    MapTold,
    OrderTold,
    PassTold,
    ProcessTold,
    SessionsTold,
    SlidingTold,
    Told,
    TopTold,
)

COUNT_AND_SUM = (AccumulatorTold("count", "p0"), AccumulatorTold("sum_long", "p1"))
LONG = '{"type":"struct","fields":[{"name":"value","type":"long","nullable":true,"metadata":{}}]}'

SAMPLES: tuple[Told, ...] = (
    AggregateTold(COUNT_AND_SUM, GroupEnds(1, 5_000), drops_late=True, final_only=False, counted=True, always=False),
    AsOfTold(outer=True, tombstones=False, condition="l.price > r.least", lag_ms=3_000),
    CollapseTold(),
    CountedJoinTold(
        how="left",
        append_only_sides=(True, False),
        residual="l.price > r.least",
        waits=True,
        lifetimes=(LifetimeTold("at", 60_000, 5_000, exact=True), None),
    ),
    DedupTold(keep_last=False, time="_time", within_ms=60_000, late_ms=65_000),
    EnrichTold(outer=False, tombstones=True, condition=None, replaces=("id",)),
    HoppingTold(COUNT_AND_SUM, time="time", windows=6, every_ms=10_000, after_ms=5_000, final_only=True),
    JoinTold(append_only_sides=(False, True), residual=None),
    LateRowsTold(end="window_end", after_ms=5_000),
    LatestTold(),
    PassTold(),
    ProcessTold(
        values=LONG,
        lists=(ListTold("seen", LONG),),
        maps=(MapTold("by_place", LONG, LONG),),
        output=LONG,
        command="gAQ=",
        python="python3",
        environment={"SPARK_REUSE_WORKER": "1"},
        time="at",
        clocked=False,
        wait_ms=5,
    ),
    SessionsTold(COUNT_AND_SUM, time="time", gap_ms=30_000, after_ms=5_001, final_only=False),
    SlidingTold(COUNT_AND_SUM, back="b0", end="end", size_ms=60_000, counted=True, always=False),
    TopTold(
        count=3,
        order=(OrderTold("price", descending=True, nulls_first=False),),
        ties=4,
        ranked=False,
        append_only=True,
        ends=GroupEnds(0, 5_000),
    ),
)
