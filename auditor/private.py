"""Files that are their owner's alone: others on the machine can neither read them nor take their locks.

Promise: what is made here has the mode 0600 whatever the umask, and is never made through a link that
somebody left there. What is there already is brought to that mode, and is an error where it belongs to
somebody else. Where the system has no such modes, folders say who may read what is in them.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from filelock import FileLock

OWNERS = 0o600
_OTHERS = 0o077


def create(path: Path) -> None:
    """Make an empty file.

    Raises:
        OSError: it cannot be made, or something is there.
    """
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNERS))


def replace(path: Path, text: str, beside: str = ".new") -> None:
    """Put a text in the place of a file, whole or not at all, and on disk when this returns.

    Args:
        path: The file; a link is replaced by it.
        text: What it is to say, line ends as they are.
        beside: Ending of the name that it is written under first; what is there is removed. One writer at a
            time.

    Raises:
        OSError: it cannot be written; what was there is there still.
    """
    new = path.with_name(f"{path.name}{beside}")
    new.unlink(missing_ok=True)
    try:
        create(new)
        with new.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def tighten(path: Path) -> None:
    """Take a file away from all but its owner, if it is there.

    Raises:
        OSError: others may use it, and it belongs to one of them.
    """
    if os.name != "posix":
        return
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(found.st_mode) or not found.st_mode & _OTHERS:
        return
    if os.geteuid() not in (found.st_uid, 0):
        raise PermissionError(errno.EPERM, "another user's, and open to others: its owner must run chmod 600")
    # By its name: to open and close a database that SQLite has open would let go of SQLite's locks.
    path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)


def lock(path: Path, timeout: float = -1) -> FileLock:
    """A lock file that others cannot open, and so cannot hold.

    Args:
        path: The file.
        timeout: Seconds to wait for it; -1 waits for ever.
    """
    from filelock import FileLock  # late: files are also written by who has no lock to take

    return FileLock(path, timeout=timeout, mode=OWNERS, poll_interval=0.01)


def sync_folder(folder: Path) -> None:
    """Make a file's new name durable, where the system lets a folder be synced."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
