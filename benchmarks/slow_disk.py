"""A file system of one file that takes long for each write, and one that is full: disks as an operator meets them.

Both need root. The slow one speaks the protocol of the kernel with file systems in user space (`linux/fuse.h`, 7.31).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

_HEAD, _REPLY, _INIT = struct.Struct("<IIQQIIII"), struct.Struct("<IiQ"), struct.Struct("<IIIIHHIIHHI28x")
_ATTRIBUTES, _ENTRY, _READ = struct.Struct("<6Q10I"), struct.Struct("<QQQQII"), struct.Struct("<QQIIQII")
_CREATE, _UNANSWERED = 35, (2, 36, 42)
_SIZE_GIVEN, _DIRECTORY, _FILE = 8, 0o40755, 0o100600
_DETACH = 2


class SlowDisk:
    """The server of the file system. ``seconds``: the time for a write. ``content``: of the file."""

    def __init__(self, device: int, seconds: float) -> None:
        self._device = device
        self._seconds = seconds
        self._exists = False
        self.content = bytearray()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):  # it was unmounted
            while message := os.read(self._device, 1 << 21):
                _, operation, unique, node, *_ = _HEAD.unpack_from(message)
                if operation not in _UNANSWERED:
                    answer = self._answer(operation, node, message[_HEAD.size :])
                    error, data = (-answer, b"") if isinstance(answer, int) else (0, answer)
                    os.write(self._device, _REPLY.pack(_REPLY.size + len(data), error, unique) + data)

    def _answer(self, operation: int, node: int, data: bytes) -> bytes | int:
        """Return the content of a reply, or the number of an error."""
        match operation:
            case 26:  # the beginning
                return _INIT.pack(7, 31, 1 << 17, 0, 16, 12, 1 << 17, 1, 0, 0, 0)
            case 1 | 35 if operation == _CREATE or self._exists:  # a name
                self._exists = True
                entry = _ENTRY.pack(2, 0, 0, 0, 0, 0) + self._attributes(2)
                return entry + (bytes(16) if operation == _CREATE else b"")
            case 1:  # a name that does not exist
                return errno.ENOENT
            case 3:  # attributes
                return bytes(16) + self._attributes(node)
            case 4:  # change of attributes
                valid, size = struct.unpack_from("<I12xQ", data)
                if valid & _SIZE_GIVEN:
                    self.content = self.content[:size].ljust(size, b"\0")
                return bytes(16) + self._attributes(node)
            case 14 | 27:  # opening
                return bytes(16)
            case 15:  # reading
                _, offset, size, *_ = _READ.unpack_from(data)
                return bytes(self.content[offset : offset + size])
            case 16:  # writing
                time.sleep(self._seconds)
                _, offset, size, *_ = _READ.unpack_from(data)
                self.content[offset : offset + size] = data[_READ.size : _READ.size + size]
                return struct.pack("<II", size, 0)
            case 10:  # removal
                self._exists = False
                return b""
            case 17:  # size of the disk
                return bytes(80)
            case 18 | 25:  # closing
                return b""
        return errno.ENOSYS

    def _attributes(self, node: int) -> bytes:
        mode, size = (_DIRECTORY, 0) if node == 1 else (_FILE, len(self.content))
        return _ATTRIBUTES.pack(node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, os.getuid(), os.getgid(), 0, 4096, 0)


@contextlib.contextmanager
def _mounted(kind: str, where: Path, options: str) -> Iterator[None]:
    library = ctypes.CDLL(None, use_errno=True)
    if library.mount(b"benchmark", os.fsencode(where), kind.encode(), 0, options.encode()):
        raise OSError(ctypes.get_errno(), f"cannot mount {kind}: {os.strerror(ctypes.get_errno())}")
    try:
        yield
    finally:
        library.umount2(os.fsencode(where), _DETACH)


@contextlib.contextmanager
def slow_disk(where: Path, seconds: float) -> Iterator[SlowDisk]:
    """Mount a slow disk at a folder. Raises OSError without the permission."""
    device = os.open("/dev/fuse", os.O_RDWR)
    try:
        with _mounted("fuse", where, f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}"):
            yield SlowDisk(device, seconds)
    finally:
        os.close(device)


def small_disk(where: Path, size: int) -> contextlib.AbstractContextManager[None]:
    """Mount a disk of so many bytes at a folder. Raises OSError without the permission."""
    return _mounted("tmpfs", where, f"size={size}")
