"""What users hand over where a source, a sink or a window is wanted; anything else is refused at once."""

from __future__ import annotations

from millstream.plan.errors import Step, here
from millstream.plan.node import Node


def refuse_no_source(source: object, call: str) -> None:
    """Whether it has a label, as sources and sinks do, but no modes, as only sinks do."""
    if not hasattr(source, "label") or hasattr(source, "modes"):
        raise Step(call, here()).error(
            "MS-SOURCE-011",
            f"was given {shown(source)}, not a source.",
            hint=f"for example journal.source({topic(source)})",
        )


def refuse_no_sink(sink: object, input: Node) -> None:
    if not hasattr(sink, "modes"):
        raise Step(input.name, here()).error(
            "MS-SINK-011",
            f"is to be written to {shown(sink)}, which is not a sink.",
            hint=f"for example to(journal.sink({topic(sink)}))",
        )


def shown(given: object) -> str:
    """`'orders'` as it is, and of anything else what it is."""
    return repr(given) if isinstance(given, str) else f"a {type(given).__name__}"


def topic(given: object) -> str:
    name = given if isinstance(given, str) else getattr(given, "label", "orders")
    return f'"{name}"'
