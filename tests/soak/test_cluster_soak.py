"""A short soak on a cluster: every kind of fault once, on real servers, with the checkpoint on either storage."""

from __future__ import annotations

import pytest

from servers.network import can_be_cut
from soak.cluster.faults import KINDS
from soak.cluster.run import soak
from soak.strike import Plan


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.server
@pytest.mark.parametrize("on", ["s3", "hdfs"])
def test_nothing_is_lost_and_nothing_is_there_twice(on: str) -> None:
    kinds = [kind for kind in KINDS if can_be_cut() or not kind.as_root]
    struck, judged = soak(Plan(len(kinds), None, 1, print), on, "micro-batch")
    assert {part.kind for part in struck} == {kind.name for kind in kinds}
    assert [part.kind for part in struck if part.given_up] == []
    assert [(part.sink, part.lost, part.duplicated) for part in judged.sinks if part.lost or part.duplicated] == []
    assert judged.wrong == 0
    assert all(part.expected for part in judged.sinks)
