"""A Python step of a module beside this file. Run by `millstream run`."""

from __future__ import annotations

from words import Pair  # type: ignore[import-not-found]  # beside this script

import millstream as ms
from millstream import journal

job = ms.Job("pairs")
likes = job.stream(journal.source("likes"), schema="liker STRING, liked STRING")
likes.key_by("liked").process(Pair).to(journal.sink("matches"))
