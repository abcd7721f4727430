"""Files on folders that all machines see, and on object stores through `fsspec`."""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mayhap_bloom


def file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    import fsspec

    fs, path = fsspec.core.url_to_fs(url)
    return fs, path


def is_url(path: str) -> bool:
    """Whether `fsspec` has to read it."""
    return "://" in path


class Target:
    """The file that is written in the end: a path or a URL."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)

    def __str__(self) -> str:
        return self.path

    def check(self) -> None:
        """Raises FileNotFoundError for a file in a missing folder, before any work."""
        folder = os.path.dirname(self.path) or "."
        if not is_url(self.path) and not os.path.isdir(folder):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)

    def folder(self) -> Folder:
        """A new folder next to the file."""
        # For this run alone: another run may have other numbers or other keys.
        return Folder(f"{self.path}.segments-{uuid.uuid4().hex[:12]}")

    @contextlib.contextmanager
    def writing(self) -> Iterator[str]:
        """A local file that replaces the target."""
        with _uploaded(self.path) as local:
            yield local


class Folder:
    """The folder in which tasks put segments, removed after `with`."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __enter__(self) -> Folder:
        if not is_url(self.path):
            os.mkdir(self.path)
        return self

    def __exit__(self, *error: object) -> None:
        if is_url(self.path):
            fs, path = file_system(self.path)
            if fs.exists(path):
                fs.rm(path, recursive=True)
            return
        # An abandoned task may still be writing.
        for name in os.listdir(self.path):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.path, name))
        with contextlib.suppress(OSError):
            os.rmdir(self.path)

    def file(self, number: int) -> str:
        """The path or URL of a segment."""
        return f"{self.path}/{number:06}.mayhap"

    def writing(self, number: int) -> contextlib.AbstractContextManager[str]:
        """A local file that becomes the segment."""
        return _uploaded(self.file(number))

    @contextlib.contextmanager
    def fetched(self, count: int) -> Iterator[list[str]]:
        """The segments as local files, in order."""
        if not is_url(self.path):
            yield [self.file(number) for number in range(count)]
            return
        with tempfile.TemporaryDirectory(prefix="mayhap-") as local:
            fs, path = file_system(self.path)
            fs.get(path + "/", local + "/", recursive=True)
            yield [f"{local}/{number:06}.mayhap" for number in range(count)]


@contextlib.contextmanager
def _uploaded(path: str) -> Iterator[str]:
    """The path itself, or a local file that is uploaded to the URL."""
    if not is_url(path):
        # `save` writes to a temporary file and renames it.
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="mayhap-") as folder:
        local = os.path.join(folder, "file")
        yield local
        fs, remote = file_system(path)
        fs.makedirs(fs._parent(remote), exist_ok=True)
        # One object appears as a whole.
        fs.put_file(local, remote)


def size(path: str) -> int:
    """The size of the file in bytes."""
    if is_url(path):
        fs, remote = file_system(path)
        return int(fs.size(remote))
    return os.stat(path).st_size


def opened(path: str) -> Any:
    """The filter of a file, mapped; the same object as long as the file is the same.

    Tasks of one machine share its pages. A URL is fetched once per machine.
    """
    if is_url(path):
        for _ in range(3):
            # Another process may have just put a newer copy in its place.
            with contextlib.suppress(FileNotFoundError):
                return _opened(_fetched(path))
        return _opened(_fetched(path))
    found = os.stat(path)
    return _opened(path, found.st_ino, found.st_mtime_ns, found.st_size)


@functools.lru_cache(maxsize=4)
def _opened(path: str, *_state: int) -> Any:
    return mayhap_bloom.open(path, mmap=True)


#: The attributes that change when an object is replaced, by the names of several file systems.
_VERSIONS = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "created")


def _version(fs: Any, remote: str) -> str | None:
    """A value that changes once the object is replaced; `None` where there is no such value."""
    # `ukey` of HTTP is the URL alone: its listings never expire.
    fs.invalidate_cache(remote)
    info = fs.info(remote)
    found = {name: str(info[name]) for name in _VERSIONS if info.get(name) is not None}
    if "http" in _protocols(fs):
        found |= _of_head(fs, remote)
    return f"{info.get('size')} {sorted(found.items())}" if found else None


def _protocols(fs: Any) -> tuple[str, ...]:
    return (fs.protocol,) if isinstance(fs.protocol, str) else tuple(fs.protocol)


def _of_head(fs: Any, url: str) -> dict[str, str]:
    """The headers of HTTP that name a version."""
    from fsspec.asyn import sync

    async def head() -> dict[str, str]:
        session = await fs.set_session()
        async with session.head(url, allow_redirects=True, **fs.kwargs) as response:
            response.raise_for_status()
            wanted = ("ETag", "Last-Modified")
            return {name: response.headers[name] for name in wanted if name in response.headers}

    found: dict[str, str] = sync(fs.loop, head)
    return found


def _fetched(url: str) -> str:
    """A local copy of the object as it is now."""
    fs, remote = file_system(url)
    version = _version(fs, remote)
    # Without a version it may be another object each time.
    object_name = hashlib.sha256(url.encode()).hexdigest()[:32]
    version_name = hashlib.sha256((version or uuid.uuid4().hex).encode()).hexdigest()[:32]
    folder = Path(tempfile.gettempdir()) / f"mayhap-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    local = folder / f"{object_name}-{version_name}.mayhap"
    if not local.exists():
        part = folder / f"{object_name}.{uuid.uuid4().hex}"
        fs.get_file(remote, str(part))
        part.rename(local)
        # Processes that have mapped an older one keep it.
        for other in folder.glob(f"{object_name}-*.mayhap"):
            if other != local:
                other.unlink(missing_ok=True)
    return str(local)
