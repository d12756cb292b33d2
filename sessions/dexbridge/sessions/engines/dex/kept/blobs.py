"""A private place for what the SDK caches of large values; conversations are among them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager

import dex

__all__ = ["blob_cache"]

_MOST_BYTES = 256 * 1024 * 1024


@contextmanager
def blob_cache() -> Generator[dex.BlobCache]:
    """A cache in a folder of its own (0700), removed at the end."""
    folder = tempfile.mkdtemp(prefix="dexbridge-dex-")
    try:
        cache = dex.open_blob_cache(dex.BlobCacheConfig(folder, _MOST_BYTES))
        try:
            yield cache
        finally:
            cache.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
