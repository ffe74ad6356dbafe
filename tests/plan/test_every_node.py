"""A new kind of node is handled wherever nodes are told apart by their kind."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import pytest

import millstream.plan
from millstream.plan.describe import describe
from millstream.plan.node import Node, Stateful, Stateless
from millstream.plan.nodes import Declared, Keep
from millstream.plan.python import Chosen
from millstream.spark.lower import frames
from millstream.spark.lower.operators import LOWERINGS
from millstream.spark.lower.router import FanOut

NOT_SHOWN = {Declared, Keep, Chosen}
"""Steps that `explain` leaves out."""


def kinds(base: type[Node]) -> Iterator[type[Node]]:
    """The kinds of nodes that a plan can hold: those that are built themselves, not what they have in common."""
    for found in pkgutil.iter_modules(millstream.plan.__path__):
        importlib.import_module(f"millstream.plan.{found.name}")
    for kind in base.__subclasses__():
        if kind not in (Stateless, Stateful) and kind.__name__ != "Unary":
            yield kind
        yield from kinds(kind)


def named(base: type[Node]) -> list[type[Node]]:
    return sorted(set(kinds(base)), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", named(Stateless))
def test_a_stateless_node_is_a_step_of_frames_and_of_routers(kind: type[Stateless]) -> None:
    assert frames.step.dispatch(kind) is not frames.step.dispatch(object)
    step = FanOut.__dict__["step"].dispatcher
    assert kind.labels or step.dispatch(kind) is not step.dispatch(object)


@pytest.mark.parametrize("kind", named(Stateful))
def test_a_stateful_node_has_a_lowering(kind: type[Node]) -> None:
    assert kind in LOWERINGS


@pytest.mark.parametrize("kind", named(Node))
def test_a_node_is_stateless_or_stateful_and_has_a_description(kind: type[Node]) -> None:
    assert not (issubclass(kind, Stateless) and issubclass(kind, Stateful))
    assert kind in NOT_SHOWN or describe.dispatch(kind) is not describe.dispatch(object)
