"""Folders of JSON, CSV and Parquet files."""

from millstream.connectors.files import FileSink, FileSource, sink, source

__all__ = ["FileSink", "FileSource", "sink", "source"]
