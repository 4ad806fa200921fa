"""The files of S3 and of stores with the same protocol, through obstore.

Settings come from the variables of the environment (`AWS_ENDPOINT_URL_S3`, `AWS_REGION`, `AWS_SKIP_SIGNATURE`, …).
Where boto3 is installed, they also come from the profiles of AWS: credentials, region, endpoint and certificates.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

#: A store that cannot be reached is an error after a few seconds; throttled requests are still repeated.
_RETRIES = {"max_retries": 6, "retry_timeout": timedelta(minutes=1)}
#: botocore renews credentials at the latest this long before they expire.
_CREDENTIALS_VALID = timedelta(minutes=10)


class S3Store:
    """The functions of a file system of fsspec that are used here. Names are those of a bucket and an object."""

    def __init__(self) -> None:
        files = import_module("obstore.fsspec").FsspecStore
        self._files = files("s3", retry_config=_RETRIES, skip_instance_cache=True, **_settings())

    def open(self, name: str, mode: str, block_size: int) -> Any:
        details = self._files.info(name)  # if the constructor of a file fails, its destructor raises another error
        if details["type"] == "directory":
            raise FileNotFoundError(name)
        return self._files.open(name, mode, buffer_size=block_size, size=details["size"])

    def size(self, name: str) -> int:
        return int(self._files.size(name))

    def isdir(self, name: str) -> bool:
        if "/" in name:
            return bool(self._files.isdir(name))
        with suppress(FileNotFoundError):  # an empty bucket
            self._files.ls(name)
        return True

    def walk(self, name: str) -> Iterator[tuple[str, list[str], list[str]]]:
        """Yield (folder, folders, files). Unlike the function of fsspec, it raises what a folder below raises."""
        entries: list[dict[str, Any]] = []
        with suppress(FileNotFoundError):  # an empty bucket
            entries = self._files.ls(name, detail=True)
        folders: list[str] = []
        files: list[str] = []
        for entry in entries:
            if entry["name"] != name:  # the console of AWS makes an object for a folder
                (folders if entry["type"] == "directory" else files).append(entry["name"].rpartition("/")[2])
        yield name, folders, files
        for folder in folders:
            yield from self.walk(f"{name}/{folder}")


def store() -> S3Store:
    """Return the store of this process, which keeps its connections until a variable of AWS changes.

    Raises ImportError without obstore, and OSError in a forked process whose parent has used obstore: the threads that
    obstore waits for exist only in the parent.
    """
    import_module("obstore")
    if os.getpid() != _first_process():
        raise OSError(
            "S3 was read before this process was forked; start processes by `spawn` or `forkserver` "
            "(multiprocessing.set_start_method)"
        )
    return _store(frozenset(item for item in os.environ.items() if item[0].startswith("AWS_")))


@cache
def _first_process() -> int:
    """Return the process that first used obstore. Forked processes inherit the result."""
    return os.getpid()


@lru_cache(maxsize=1)
def _store(environment: frozenset[tuple[str, str]]) -> S3Store:
    return S3Store()


def _settings() -> dict[str, Any]:
    """Return the arguments for obstore that it does not take from the environment. Raises OSError."""
    settings: dict[str, Any] = {}
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION")
    certificates = os.environ.get("AWS_CA_BUNDLE")
    with suppress(ImportError):
        session = import_module("botocore.session").get_session()
        endpoints = import_module("botocore.configprovider").ConfiguredEndpointProvider
        endpoint = endpoints(session.full_config, session.get_scoped_config(), "s3").provide()
        region = region or session.get_config_variable("region")
        certificates = session.get_config_variable("ca_bundle")
        if os.environ.get("AWS_SKIP_SIGNATURE", "").lower() in ("", "0", "false"):
            settings["credential_provider"] = _credentials(session)
    if endpoint:
        settings["endpoint"] = endpoint
    if region:
        settings["region"] = region
    client: dict[str, Any] = {"allow_http": bool(endpoint and endpoint.startswith("http://"))}
    if certificates:
        try:
            client["root_certificate"] = Path(certificates).read_bytes()
        except OSError as error:
            raise OSError(f"the certificates {certificates} (AWS_CA_BUNDLE): {error.strerror}") from None
    return settings | {"client_options": client}


def _credentials(session: Any) -> Any:
    """Return the credentials that botocore finds, for obstore. Raises OSError without any."""
    credentials = session.get_credentials()
    if credentials is None:
        raise OSError(
            "no credentials for S3: set AWS_PROFILE, AWS_ACCESS_KEY_ID, or AWS_SKIP_SIGNATURE=true for a public bucket"
        )
    credentials.get_frozen_credentials()  # an expired login is an error of botocore here, and of obstore later
    return import_module("obstore.auth.boto3").Boto3CredentialProvider(session, ttl=_CREDENTIALS_VALID)
