"""What a manager writes: a line for each thing that happens, for people or as JSON."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime


class AsJson(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        told = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            told["trace"] = self.formatException(record.exc_info)
        return json.dumps(told)


def write(kind: str) -> None:
    """`text` or `json`, on stderr."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(AsJson() if kind == "json" else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name in ("millstream.manager", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
    logging.getLogger("millstream.manager").setLevel(logging.INFO)
