"""The certificate: what was done, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from millstream.testing.faults import POINTS, Fault
from millstream.verify.trial import Differences, Trial, first

TEST = '''"""A case that `millstream verify` found, with seed {seed}."""

from pathlib import Path

from millstream.testing.faults import Fault
from millstream.verify.case import check


def test_nothing_is_lost_and_nothing_is_there_twice(tmp_path: Path) -> None:
    check(Path({job!r}), tmp_path, [{faults}], {asked})
'''


@dataclass
class Certificate:
    trial: Trial
    faults: int = 0
    rounds: int = 0
    lost: int = 0
    duplicated: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        return self.lost == 0 and self.duplicated == 0

    def take(self, faults: list[Fault], found: dict[str, Differences]) -> None:
        """What a round of faults left in the sinks."""
        self.rounds += 1
        for name, difference in found.items():
            self.lost += sum(difference.lost.values())
            self.duplicated += sum(difference.duplicated.values())
            self.failures.append(f'sink "{name}" after {", ".join(map(shown, faults))}: {first(difference)}')
        if found:
            self.failures.append(f"saved as {self.save(faults)}")

    def save(self, faults: list[Fault]) -> Path:
        """The failing case as a test that can be run again."""
        file = Path.cwd() / f"test_verify_{self.trial.job.name.replace('-', '_')}_{self.rounds}.py"
        listed = ", ".join(repr(fault) for fault in faults)
        asked = f"rows={max(self.trial.rows.values())}, seed={self.trial.seed}"
        file.write_text(TEST.format(seed=self.trial.seed, job=str(self.trial.file), faults=listed, asked=asked))
        return file

    def text(self) -> str:
        lines = [f"job {self.trial.job.name}: {self.rounds} runs to their end, seed {self.trial.seed}"]
        lines += [f"  sink {sink.name}: {sink.options.guarantee}" for sink in self.trial.sinks]
        missed = [point for point in POINTS if point not in self.trial.points]
        lines += [f"  never reached: {', '.join(missed)}"] if missed else []
        lines += [f"  {failure}" for failure in self.failures]
        told = f"{self.faults} faults at {len(self.trial.points)} points"
        return "\n".join([*lines, f"{told}, lost {self.lost}, duplicated {self.duplicated}"])


def shown(fault: Fault) -> str:
    return f"{fault.point}@{fault.epoch}"
