"""The client library."""

from __future__ import annotations

import logging
from typing import Any

from millstream.connectors.library import library


def pika() -> Any:
    # It logs as errors, with tracebacks, what it raises anyway.
    logging.getLogger("pika").setLevel(logging.CRITICAL)
    return library("pika", "rabbitmq")
