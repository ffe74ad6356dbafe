"""One writer per partition: a POSIX record lock, and a list of the locks that this process holds.

POSIX locks do not exclude within a process, and a process loses its lock when it closes *any* descriptor
of the file. So no other code in this process may open the file while it is held, not even to look.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import sys
import threading
from pathlib import Path

from millstream.errors import MillstreamError
from millstream.journal.segments import Partition

OTHER_WRITER = "MS-JOURNAL-005"

_held: dict[str, int] = {}  # lock file -> the process that holds it; a forked child inherits the dict, not the locks
_guard = threading.Lock()
_REFUSED = (errno.EACCES, errno.EAGAIN)
_WITHOUT_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)
# struct flock: type, whence, start, length, process; another order on macOS
_FLOCK = struct.Struct("qqihh" if sys.platform == "darwin" else "hhqqi0q")


class PartitionLock:
    """The right to write to a partition, until it is released or the process ends."""

    def __init__(self, key: str, fd: int) -> None:
        self._key = key
        self._fd = fd

    def release(self) -> None:
        with _guard:
            if self._fd < 0:
                return
            os.close(self._fd)
            self._fd = -1
            if _held.get(self._key) == os.getpid():
                del _held[self._key]

    def __del__(self) -> None:
        self.release()


def acquire(where: Partition) -> PartitionLock:
    """Takes the partition's lock; another writer is refused, in whichever process."""
    os.makedirs(where.folder, exist_ok=True)
    key = _key(where)
    with _guard:
        if _held.get(key) == os.getpid():
            raise _refused(where, "another producer of this process")
        fd = os.open(key, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in _WITHOUT_LOCKS:
                holder = _holder(fd)
                os.close(fd)
                if error.errno in _REFUSED:
                    raise _refused(where, f"process {holder}" if holder else "another process") from None
                raise
        _held[key] = os.getpid()
        return PartitionLock(key, fd)


def is_held(where: Partition) -> bool | None:
    """Whether a writer has the partition now. None: there are no locks."""
    if not where.files.local:
        return None
    key = _key(where)
    with _guard:
        if _held.get(key) == os.getpid():
            return True
        try:
            fd = os.open(key, os.O_RDWR | os.O_CLOEXEC)
        except (FileNotFoundError, PermissionError):
            return False
        try:
            return _holder(fd) is not None
        finally:
            os.close(fd)


def _key(where: Partition) -> str:
    return str(Path(os.path.realpath(where.folder)) / "lock")


def _holder(fd: int) -> int | None:
    """The process that would refuse us the lock; asked without taking it."""
    wanted = (0, 0, 0, fcntl.F_WRLCK, 0) if sys.platform == "darwin" else (fcntl.F_WRLCK, 0, 0, 0, 0)
    try:
        found = _FLOCK.unpack(fcntl.fcntl(fd, fcntl.F_GETLK, _FLOCK.pack(*wanted)))
    except OSError:
        return None
    kind, process = (found[3], found[2]) if sys.platform == "darwin" else (found[0], found[4])
    return None if kind == fcntl.F_UNLCK else int(process)


def _refused(where: Partition, holder: str) -> MillstreamError:
    return MillstreamError(
        OTHER_WRITER,
        f"{where} has another writer.",
        found=f"the lock is held by {holder}",
        hint="a partition has one writer at a time: close that producer, or stop that job.",
    )
