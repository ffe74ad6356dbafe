"""The jobs that managers know, typed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from pydantic import TypeAdapter

from millstream.errors import MillstreamError, did_you_mean
from millstream.manager.documents import Changed, Document, Documents
from millstream.manager.records import JobRecord

JSON = TypeAdapter(JobRecord)
TRIES = 20


class Registry:
    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def jobs(self) -> list[JobRecord]:
        return [read(document.body) for document in self._documents.all()]

    def job(self, name: str) -> JobRecord:
        return read(self._document(name).body)

    def find(self, name: str) -> JobRecord | None:
        document = self._documents.read(name)
        return None if document is None else read(document.body)

    def add(self, job: JobRecord) -> None:
        self._documents.create(job.name, JSON.dump_json(job).decode())

    def update(self, name: str, change: Callable[[JobRecord], JobRecord]) -> JobRecord:
        """What `change` makes of the job, which it may be asked more than once."""
        for _ in range(TRIES):
            document = self._document(name)
            before = read(document.body)
            after = change(before)
            if after == before:
                return after
            try:
                self._documents.replace(document, JSON.dump_json(after).decode())
            except Changed:
                continue
            return after
        raise Changed(name)

    def remove(self, name: str) -> None:
        self._documents.delete(self._document(name))

    def _document(self, name: str) -> Document:
        document = self._documents.read(name)
        if document is None:
            known = [each.name for each in self._documents.all()]
            raise unknown(name, known)
        return document

    def close(self) -> None:
        self._documents.close()


@lru_cache(maxsize=1000)
def read(body: str) -> JobRecord:
    """Records are frozen, so one that was read before is as good."""
    return JSON.validate_json(body)


def unknown(name: str, known: list[str]) -> MillstreamError:
    return MillstreamError(
        "MS-MANAGER-001",
        f'there is no job "{name}".',
        found=f"jobs: {', '.join(known) or 'none'}",
        hint=did_you_mean(name, known),
    )
