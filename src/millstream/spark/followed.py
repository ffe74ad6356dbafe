"""What spark-submit says of a job on a cluster, line by line, and what became of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

NAME = re.compile(r"Submitted application (application_\w+)|pod name: (\S+)")
NAMESPACE = re.compile(r"namespace: (\S+)")
PHASE = re.compile(r"phase: (\w+)")
"""Of a driver's pod. spark-submit itself ends well, whatever became of the pod."""
DIAGNOSTICS = re.compile(r"diagnostics: (?!N/A|AM container|\[.*Application is added|Scheduler has assigned)(.+)")
THROWN = re.compile(r'Exception in thread "main" [\w.$]+: (.+)')
EXIT = re.compile(r"exit code: (\d+)")
CAUSE = re.compile(r"termination reason: (\w+)")
PENDING = re.compile(r"pending reason: (\w+)")
ON_ITS_WAY = ("ContainerCreating", "PodInitializing")
"""Reasons why every pod is pending for a while."""


@dataclass
class Seen:
    """`name`: as the cluster knows the job. `code`: that of spark-submit."""

    name: str | None = None
    namespace: str | None = None
    phase: str | None = None
    said: str | None = None
    thrown: str | None = None
    exit: str | None = None
    cause: str | None = None
    code: int = 0
    waits: set[str] = field(default_factory=set)

    def hear(self, line: str) -> None:
        name = NAME.search(line)
        if name is not None and self.name is None:
            self.name = name.group(1) or name.group(2)
        self.namespace = first(NAMESPACE, line) or self.namespace
        self.phase = first(PHASE, line) or self.phase
        self.said = first(DIAGNOSTICS, line) or self.said
        self.thrown = self.thrown or first(THROWN, line)
        self.exit = first(EXIT, line) or self.exit
        self.cause = first(CAUSE, line) or self.cause

    def new_wait(self, line: str) -> str | None:
        """Why the driver's pod does not start, if that is news."""
        reason = first(PENDING, line)
        if reason is None or reason in ON_ITS_WAY or reason in self.waits:
            return None
        self.waits.add(reason)
        return reason

    @property
    def failed(self) -> bool:
        return self.code != 0 or self.phase not in (None, "Succeeded")

    @property
    def reason(self) -> str | None:
        if self.code != 0:
            return self.said or self.thrown
        if self.phase == "Failed" and self.exit is None:
            return "its pod was ended before its program had: was it evicted?"
        if self.phase == "Failed":
            return f"its pod ended with exit code {self.exit} ({self.cause})"
        return f"its pod was deleted; until then it was {self.phase}"

    @property
    def command_for_logs(self) -> str | None:
        if self.name is None:
            return None
        if self.name.startswith("application_"):
            return f"yarn logs -applicationId {self.name}"
        elsewhere = self.namespace not in (None, "default")
        return f"kubectl logs {self.name}" + (f" --namespace {self.namespace}" if elsewhere else "")


def first(pattern: re.Pattern[str], line: str) -> str | None:
    found = pattern.search(line)
    return found.group(1).strip() if found else None
