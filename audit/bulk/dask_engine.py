"""An audit on a Dask cluster: one on this machine, or an existing one.

The workers read and audit parts of the input. The client merges the results in the order of the input. A part whose
worker dies is audited again on another worker, so the result stays the same.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

from toolparity import __version__
from toolparity.cassettes.sources import FilePart, Problem
from toolparity.cassettes.workers import cores, interrupts_held, rare_collections
from toolparity.normalizer.errors import MissingExtra, ToolparityError

from .parallel import Engine, Result

if TYPE_CHECKING:
    from distributed import Client

#: The environment variable with the address of the scheduler, as Dask itself reads it.
SCHEDULER = "DASK_SCHEDULER_ADDRESS"
#: The approximate size of a part of a file, in bytes: about a second of work.
PART_BYTES = 16 * 1024 * 1024
#: The number of parts per worker thread that are in progress at a time.
_UNDER_WAY = 3
#: The log level above which the cluster on this machine writes nothing.
_SILENT = 60
#: How long to wait for an existing scheduler, and for its first worker, in seconds.
_WAIT_SECONDS = 30


@contextmanager
def dask_engine(scheduler: str | None = None, jobs: int = 0) -> Iterator[Engine]:
    """Yield an engine for `audit_paths`, and close the connection or the cluster at the end.

    ``scheduler``: the address of an existing scheduler, by default that in DASK_SCHEDULER_ADDRESS. Without one, a
    cluster of ``jobs`` processes is started on this machine, which listens on 127.0.0.1 only; 0 means one per core.

    Raises MissingExtra without Dask. Raises ToolparityError if the scheduler cannot be reached, or if its workers have
    another version of toolparity.
    """
    try:
        import distributed
    except ImportError:
        raise MissingExtra("Dask is not installed", hint="pip install 'toolparity[dask]'") from None
    address = scheduler or os.environ.get(SCHEDULER)
    with ExitStack() as stack:
        try:
            if address is None:
                address = stack.enter_context(_local_cluster(jobs or cores()))
            client: Client = stack.enter_context(
                distributed.Client(address, timeout=_WAIT_SECONDS, set_as_default=False)
            )
            client.wait_for_workers(1, timeout=_WAIT_SECONDS)
        except (OSError, ValueError) as error:
            raise ToolparityError(f"no Dask cluster at {address}: {error}", hint="is it running?") from None
        _check_versions(client)
        yield Engine(_in_parts(client), PART_BYTES, unpack=False)


def _local_cluster(workers: int) -> Any:
    from distributed import LocalCluster

    resource_tracker.ensure_running()  # a thread of the cluster that starts it would receive SIGINT again
    with interrupts_held():  # the threads and processes of the cluster never receive SIGINT
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=_SILENT,
        )


def _check_versions(client: Client) -> None:
    """Raise ToolparityError if a worker would count differently."""
    versions = client.run(_version, on_error="return")
    for worker, version in versions.items():
        if version != __version__:
            what = f"the Dask worker {worker} has toolparity {version}, this is {__version__}"
            raise ToolparityError(what, hint="install the same version on all workers")


def _version() -> str:
    from toolparity import __version__ as version

    return version


def _in_parts(client: Client) -> Callable[..., Iterator[tuple[FilePart, Any] | Problem]]:
    from distributed import Future, KilledWorker

    def in_parts(
        work: Callable[[FilePart], Result], pieces: Iterable[FilePart | Problem]
    ) -> Iterator[tuple[FilePart, Result] | Problem]:
        under_way: deque[tuple[FilePart, Future[Result]] | Problem] = deque()
        try:
            for piece in pieces:
                # Not pure: a part that occurs twice in the input is audited twice, as on one machine.
                under_way.append(
                    piece if isinstance(piece, Problem) else (piece, client.submit(_collected, work, piece, pure=False))
                )
                if len(under_way) >= _UNDER_WAY * max(sum(client.nthreads().values()), 1):
                    yield _result(under_way.popleft())
            while under_way:
                yield _result(under_way.popleft())
        except KilledWorker as error:
            raise ToolparityError(f"several Dask workers died: {error}", hint="out of memory?") from None

    return in_parts


def _collected(work: Callable[[FilePart], Result], piece: FilePart) -> Result:
    """Do the work in a worker."""
    with rare_collections():
        return work(piece)


def _result(entry: Any) -> Any:
    if isinstance(entry, Problem):
        return entry
    piece, future = entry
    return piece, future.result()
