"""What was found: kept between runs, as a table, as a picture, and as one line beside Flink."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Self

from bench.latency.places import CASES, Case

RESULTS = Path(__file__).parents[1] / "results" / "latency.json"
SHARES = (0.5, 0.9, 0.99, 0.999, 1.0)
HEADINGS = (
    "case",
    "per second",
    "checkpoints every",
    "engine",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "max",
    "committed p50",
    "p99",
    "CPU s per minute",
    "idle",
)
FIGURES = (("p50", "p50"), ("p99", "p99"), ("p99.9", "p999"), ("cpu", "cpu"), ("idle", "idle"))
"""What is compared with Flink: its printed name, and its name here."""


@dataclass(frozen=True)
class Seen:
    """Percentiles of what a reader saw, in milliseconds."""

    p50: float
    p90: float
    p99: float
    p999: float
    most: float

    @classmethod
    def of(cls, latencies: list[float]) -> Self:
        """They are in order."""
        last = len(latencies) - 1
        return cls(*(latencies[min(last, math.ceil(share * len(latencies)) - 1)] for share in SHARES))

    def __str__(self) -> str:
        return "p50 {:.1f}, p90 {:.1f}, p99 {:.1f}, p99.9 {:.1f}, max {:.1f} ms".format(*astuple(self))


@dataclass(frozen=True)
class Found:
    """The results of a case by an engine; CPU seconds per minute, under load and when idle."""

    case: Case
    engine: str
    cpu: float
    idle: float
    uncommitted: Seen
    committed: Seen

    @property
    def order(self) -> tuple[int, int, int, bool]:
        return (CASES.index(self.case.name), self.case.rate, self.case.every, self.engine != "millstream")

    @classmethod
    def load(cls, kept: dict[str, object]) -> Self:
        case, engine, cpu, idle, uncommitted, committed = kept.values()
        return cls(Case(**case), engine, cpu, idle, Seen(**uncommitted), Seen(**committed))  # type: ignore[arg-type]


def kept() -> list[Found]:
    return [Found.load(part) for part in json.loads(RESULTS.read_text())] if RESULTS.exists() else []


def keep(found: list[Found]) -> list[Found]:
    """All results, the new ones in place of the old."""
    known = {part.order: part for part in (*kept(), *found)}
    every = [known[order] for order in sorted(known)]
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps([asdict(part) for part in every], indent=1))
    return every


def table(found: Iterable[Found]) -> str:
    lines = ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * 4 + "--:|" * (len(HEADINGS) - 4)]
    for part in found:
        case = (part.case.name, f"{part.case.rate:,}", f"{part.case.every} s", part.engine)
        times = (*astuple(part.uncommitted), part.committed.p50, part.committed.p99)
        cells = (*case, *(f"{time:.1f}" for time in times), f"{part.cpu:.1f}", f"{part.idle:.1f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def beside_flink(found: list[Found]) -> str:
    """Each figure as a share of Flink's: a line for every case, and last the worst of all cases."""
    ours = {part.case: part for part in found if part.engine == "millstream"}
    pairs = [(ours[part.case], part) for part in found if part.engine == "flink" and part.case in ours]
    if not pairs:
        return "without Flink there is nothing to compare with"
    shares = [{name: value(one, figure) / value(other, figure) for name, figure in FIGURES} for one, other in pairs]
    lines = [f"{one.case}: {told(share)}" for (one, _), share in zip(pairs, shares, strict=True)]
    worst = {name: max(share[name] for share in shares) for name, _ in FIGURES}
    return "\n".join([*lines, told(worst)])


def told(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {share:.2f}" for name, share in shares.items()) + " of flink"


def value(part: Found, figure: str) -> float:
    return float(getattr(part if figure in ("cpu", "idle") else part.uncommitted, figure))
