"""Where a job keeps things: the paths under a checkpoint, and the files at these paths."""

from millstream.storage.checkpoint import CheckpointFolder
from millstream.storage.entry import Entry
from millstream.storage.files import Files, Opened, absolute, files_at
from millstream.storage.hadoop import for_hadoop

__all__ = ["CheckpointFolder", "Entry", "Files", "Opened", "absolute", "files_at", "for_hadoop"]
