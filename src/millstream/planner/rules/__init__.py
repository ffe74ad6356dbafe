"""The rules, in the order in which they are applied. Each is a function from dataflow to dataflow, in its own file."""

from __future__ import annotations

from millstream.planner.dataflow import Dataflow
from millstream.planner.rules.broadcast_joins import broadcast_joins
from millstream.planner.rules.collapse_upserts import collapse_upserts
from millstream.planner.rules.filter_before_enrich import filter_before_enrich
from millstream.planner.rules.lift_unions import lift_unions
from millstream.planner.rules.prune_columns import prune_columns
from millstream.planner.rules.push_filters import push_filters
from millstream.planner.rules.read_upserts import read_upserts
from millstream.planner.rules.share_panes import share_panes

# Unions are lifted twice: filters and pruned columns may end up above them.
RULES = (
    lift_unions,
    push_filters,
    filter_before_enrich,
    read_upserts,
    share_panes,
    prune_columns,
    broadcast_joins,
    lift_unions,
    collapse_upserts,
)


def apply_rules(flow: Dataflow) -> Dataflow:
    for rule in RULES:
        flow = rule(flow)
    return flow
