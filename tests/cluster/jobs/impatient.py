"""A job that waits a few seconds for its executors."""

from __future__ import annotations

import sys

from match import match_job  # type: ignore[import-not-found]  # beside this script

import millstream as ms

try:
    match_job().run(ms.available_now(), on=ms.cluster(sys.argv[1], shared_disk=True, slots_within="5 seconds"))
except ms.MillstreamError as error:
    print(error.text().replace("\n", " | "))
