"""What a run tells whoever supervises it, in a folder: no server need be there to hear it. FORMAT.md has the files."""
