"""Where a job finds its servers and folders: written by the soak, read by the job's process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

NAME = "places.json"


@dataclass(frozen=True)
class Saved:
    def save(self, folder: Path) -> None:
        (folder / NAME).write_text(json.dumps(asdict(self)))

    @classmethod
    def load(cls, folder: Path) -> Self:
        return cls(**json.loads((folder / NAME).read_text()))
