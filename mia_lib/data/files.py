"""Getting files: download, verify, read archives, keep parsed arrays. Nothing is unpickled or
unpacked to disk.
"""

import gzip
import hashlib
import io
import lzma
import os
import re
import stat
import tarfile
import zipfile
import zlib
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pooch

from mia_lib import disk, progress

# What a damaged archive, image or array file makes its reader raise.
BROKEN = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    RuntimeError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
)


class DataError(RuntimeError):
    """A data set that could not be had: names the file, what was expected and where to put it by
    hand.

    Taught in book/membership_game.ipynb.

    ``path`` is the file that turned out to be damaged, where it is one.
    """

    def __init__(self, message, path=None):
        super().__init__(message)
        self.path = path


@dataclass(frozen=True)
class Source:
    """One file at its official address. ``said_by`` names where the digest comes from; no digest:
    unverified.

    ``algorithm`` is a name that hashlib knows, or "git-blob": the id that git gives to a file's
    content.
    """

    file: str
    url: str
    algorithm: str = ""
    digest: str = ""
    said_by: str = ""

    def expected(self):
        return (
            f"{self.algorithm} {self.digest} ({self.said_by})"
            if self.digest
            else "the complete file"
        )


def folder():
    """The folder of parsed arrays: what the environment variable MIA_DATA names, else the user's
    cache folder.

    Used by `experiment.read_features`, for notebooks/language_model.ipynb.
    """
    return Path(os.environ.get("MIA_DATA") or pooch.os_cache("mia_lib")).expanduser()


def digest(path, algorithm):
    """The checksum of a file, in hexadecimal."""
    if algorithm == "git-blob":
        state = hashlib.sha1(b"blob %d\0" % path.stat().st_size)
    else:
        state = hashlib.new(algorithm)
    return disk.hash_file(path, state)


class _Transfer:
    """What pooch reports of a transfer, bytes, shown by the library's progress bar in megabytes."""

    def __init__(self, file):
        self.file, self.total, self.done, self.bar = file, 0, 0, None

    def update(self, n):
        if self.bar is None:
            self.bar = progress.bar(self.total // 1_000_000, f"{self.file} (MB)")
        before, self.done = self.done, min(self.done + n, self.total)
        self.bar.update(self.done // 1_000_000 - before // 1_000_000)

    def reset(self):
        """Pooch sets its count back at the end and reports the whole; what was shown needs no
        second time.
        """

    def close(self):
        if self.bar is not None:
            self.bar.close()


def fetch(source, downloads):
    """The path of a source's file, downloaded if it is not there yet.

    The file gets its name only when it is complete and its checksum is right. A file that is there
    already is verified again and never overwritten.

    Raises
    ------
    DataError
        No network, an error from the server, an incomplete transfer, a wrong checksum.
    """
    path = downloads / source.file
    if path.exists():
        _verify(source, path, path)
        return path
    by_hand = f"Expected {source.expected()}. To put it there by hand: {path}"
    part = downloads / f".{source.file}.{os.getpid()}.part"
    try:
        downloads.mkdir(parents=True, exist_ok=True)
        print(f"downloading {source.url}", flush=True)
        with closing(_Transfer(source.file)) as transfer:
            pooch.HTTPDownloader(progressbar=transfer, timeout=60)(source.url, str(part), None)
        _verify(source, part, path)
        os.replace(part, path)
    except OSError as error:  # requests' own errors are OSErrors, a full or a read-only disk too
        raise DataError(
            f"{source.file} could not be downloaded from {source.url}: {error}. {by_hand}"
        ) from error
    finally:
        part.unlink(missing_ok=True)
    return path


def _verify(source, path, destination):
    if not source.digest:
        print(f"unverified: {source.file} (no checksum with a known source)", flush=True)
        return
    found = digest(path, source.algorithm)
    if found != source.digest:
        raise DataError(
            f"{source.file} from {source.url} has a wrong checksum: {source.algorithm} {found}. "
            f"Expected {source.expected()}. To put the right file there by hand: {destination}"
        )


def safe_name(name, path):
    """A member's path without a leading "./"; DataError where it would leave the folder it is
    unpacked to.
    """
    parts = re.split(r"[/\\]", name)
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name) or ".." in parts:
        raise DataError(
            f"{path}: member {name!r} leaves the folder, expected only paths inside it", path
        )
    return "/".join(part for part in parts if part not in ("", "."))


def members(path, wanted):
    """Read the members of a .tar.gz or .zip file in their order, without unpacking anything to
    disk.

    Parameters
    ----------
    path : pathlib.Path
    wanted : callable
        From a member's path to True where its bytes are wanted.

    Yields
    ------
    name : str
    content : bytes

    Raises
    ------
    DataError
        A damaged archive; any member, wanted or not, that is a link, a device, or whose path leaves
        the folder.
    """
    try:
        yield from (_zip_members if path.suffix == ".zip" else _tar_members)(path, wanted)
    except DataError:  # which is a RuntimeError, and says what is wrong
        raise
    except BROKEN as error:
        raise DataError(
            f"{path} is damaged or incomplete ({error}), expected a whole archive", path
        ) from error


def _tar_members(path, wanted):
    # gzip notices a truncated file; tarfile's own decompression takes a cut between two members for
    # the end.
    with gzip.open(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            name = safe_name(member.name, path)
            if not (member.isfile() or member.isdir()):
                raise DataError(
                    f"{path}: member {name!r} is a link or a device, expected plain files", path
                )
            if member.isfile() and wanted(name):
                yield name, archive.extractfile(member).read()


def _zip_members(path, wanted):
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            name = safe_name(member.filename, path)
            if stat.S_ISLNK(member.external_attr >> 16):
                raise DataError(f"{path}: member {name!r} is a link, expected plain files", path)
            if not member.is_dir() and wanted(name):
                yield name, archive.read(member)


def named_members(path, names):
    """The bytes of the members of those names, in their order; DataError where one is not in the
    archive.
    """
    found = dict(members(path, lambda name: name in names))
    missing = [name for name in names if name not in found]
    if missing:
        raise DataError(
            f"{path} has no member {', '.join(map(repr, missing))}, expected {', '.join(names)}",
            path,
        )
    return [found[name] for name in names]


def read_npz(path, names, content=None):
    """Arrays of an .npz file by name, without unpickling; DataError where it is damaged or one is
    missing.

    ``content`` holds the file's bytes where it is a member of the archive at `path`.
    """
    try:
        with np.load(
            path if content is None else io.BytesIO(content), allow_pickle=False
        ) as archive:
            return {name: archive[name] for name in names}
    except BROKEN as error:
        wanted = ", ".join(names)
        raise DataError(
            f"{path} cannot be read ({error}), expected plain arrays {wanted} in .npz format", path
        ) from error
