"""Every path under a checkpoint: what lies there is in FORMAT.md.

<checkpoint>/millstream.json   job, identity, sources, operators with the shape of their state
<checkpoint>/sources.json      the ids of what the sources read
<checkpoint>/history.json      how long the last checkpoints took, and which failed
<checkpoint>/decisions/        who runs the job, and which epochs count, in one sequence
<checkpoint>/spark/            offsets, commits and state, as Spark keeps them; `lock`, of the one run
<checkpoint>/repairs/          Kafka transactions that took the place of others
<checkpoint>/outbox/           a journal: rows that wait for who carries them on, and how far they have come
<checkpoint>/received/         a journal: what came from sources that cannot be read again
<checkpoint>/received.at       where that journal lies, if this checkpoint has taken the place of another
<checkpoint>/requests/         what others ask of the run
<checkpoint>/restoring.json    there while a savepoint is restored into it: no run begins
<checkpoint>/retired.json      there when the job has continued in another checkpoint: no run begins
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from millstream.storage.files import Files, files_at
from millstream.storage.names import file_name


@dataclass(frozen=True)
class CheckpointFolder:
    root: str

    @classmethod
    def at(cls, address: str) -> CheckpointFolder:
        """By its full address, however it was given; an error if it cannot hold a checkpoint."""
        return cls(files_at(address).resolved(address))

    @property
    def files(self) -> Files:
        return files_at(self.root)

    @property
    def about(self) -> str:
        return f"{self.root}/millstream.json"

    @property
    def identities(self) -> str:
        return f"{self.root}/sources.json"

    @property
    def history(self) -> str:
        return f"{self.root}/history.json"

    @property
    def decisions(self) -> str:
        return f"{self.root}/decisions"

    @property
    def restoring(self) -> str:
        return f"{self.root}/restoring.json"

    @property
    def retired(self) -> str:
        return f"{self.root}/retired.json"

    @property
    def stop_request(self) -> str:
        return f"{self.root}/requests/stop"

    @property
    def repairs(self) -> str:
        return f"{self.root}/repairs"

    @property
    def received(self) -> str:
        return f"{self.root}/received"

    @property
    def received_at(self) -> str:
        """The journal of what was received, if it lies in another checkpoint, whose place this one has taken."""
        return f"{self.root}/received.at"

    @property
    def outbox(self) -> str:
        return f"{self.root}/outbox"

    def carried(self, topic: str) -> str:
        """The number of the last epoch of an outbox's topic that its sink has."""
        return f"{self.outbox}/{topic}.carried"

    @property
    def spark(self) -> str:
        return f"{self.root}/spark"

    @property
    def lock(self) -> str:
        return f"{self.spark}/lock"

    @property
    def query(self) -> str:
        """What Spark knows about the query: its id."""
        return f"{self.spark}/metadata"

    @property
    def offsets(self) -> str:
        return f"{self.spark}/offsets"

    def offsets_of(self, epoch: int) -> str:
        return f"{self.offsets}/{epoch}"

    @property
    def commits(self) -> str:
        return f"{self.spark}/commits"

    def commit_of(self, epoch: int) -> str:
        return f"{self.commits}/{epoch}"

    def state(self, stage: int, stages: int) -> str:
        """What Spark keeps for a stage. Spark numbers the stages from the sinks."""
        return f"{self.spark}/state/{stages - 1 - stage}"

    def source(self, place: int) -> str:
        """What Spark, or a source itself, keeps for the source of this place."""
        return f"{self.spark}/sources/{place}"

    def for_kernels(self) -> dict[str, str]:
        """What the kernels read and write, by name."""
        return {
            "spark": self.spark,
            "lock": self.lock,
            "decisions": self.decisions,
            "query": self.query,
            "offsets": self.offsets,
            "commits": self.commits,
        }

    def read_up_to(self, place: int) -> dict[str, int]:
        """By partition, the next offset of a source that the job will read: what the last committed epoch says."""
        epochs = self.committed()
        lines = (self.files.read(self.offsets_of(epochs[-1])) or "").splitlines()[2:] if epochs else []
        # After a version and a line about the epoch, a line for each source: a dash if it has read nothing.
        line = lines[place] if place < len(lines) else "-"
        return json.loads(line) if line.startswith("{") else {}

    def committed(self) -> list[int]:
        """The epochs that are committed, as far as Spark still has them. Checksums are beside them."""
        return sorted(int(name) for name in self.files.names(self.commits) if name.isdecimal())


def received_topic(system: str, source: str) -> str:
    """The topic into which a source is received, by the name of its step."""
    return file_name(f"{system}.{source}")


KEPT_KEYS = "live"
BESIDE = (".keys", ".batch")
"""What the names of journals end with that lie beside a topic of what is received."""


def kept_keys(received: str, topic: str) -> str:
    """The journal, with the topic `KEPT_KEYS`, of the keys that had a row when a received table's topic was cut."""
    return f"{received}/{topic}.keys"


def batch_copy(received: str, topic: str) -> str:
    """The journal, with a topic of the same name, of a received table as a batch reads it."""
    return f"{received}/{topic}.batch"


def outbox_topic(sink: str) -> str:
    """The topic in which a sink's rows wait: of the same name, if a topic can have it."""
    return file_name(sink)
