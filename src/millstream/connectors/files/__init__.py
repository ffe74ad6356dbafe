"""Folders of files as source and sink of jobs."""

from millstream.connectors.files.options import FileSink, FileSource, sink, source

__all__ = ["FileSink", "FileSource", "sink", "source"]
