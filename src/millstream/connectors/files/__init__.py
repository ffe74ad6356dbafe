"""Folders of files as source and sink of jobs."""

from millstream.connectors.files.options import sink, source
from millstream.connectors.files.sink import FileSink
from millstream.connectors.files.source import FileSource

__all__ = ["FileSink", "FileSource", "sink", "source"]
