"""What a run reports to its supervisor, in a folder: no server need be running. FORMAT.md has the files."""
