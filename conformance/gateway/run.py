"""A whole run through one gateway: every client wire, every upstream, several conversations at a time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import groupby

from msgspec import Struct
from msgspec.structs import replace

from toolparity.normalizer.wires.registry import specs
from toolparity.reports import results

from ..cases.case import Case
from ..oracle import judged_wires, oracle
from ..runner import baseline
from ..runner.judge import CaseFilter
from ..runner.suite import Collected, ScenarioResults
from .client import Address, Client
from .conversation import Route
from .errors import GatewayFailed
from .judge import GatewayJudge, GatewaySubject
from .preflight import check_route
from .upstream import Upstream

#: Conversations at a time. A gateway works on some while the suite judges others.
JOBS = 8
#: With Python's default of 5 ms, most of a run is waiting for a turn.
_SWITCH_SECONDS = 0.0002


class Gateway(Struct, frozen=True):
    """A running gateway.

    ``addresses``: the base URLs of its processes, which are equal. ``routes``: client wire -> how it reaches each
    upstream. ``headers``: added to every request. ``called``: the options that select it, quoted for a shell.
    """

    name: str
    version: str
    addresses: tuple[Address, ...]
    routes: Mapping[str, Sequence[Route]]
    headers: Mapping[str, str] = {}
    called: str = ""


def run(
    gateway: Gateway,
    upstream: Upstream,
    case_filter: CaseFilter,
    *,
    expected: Callable[[str], Sequence[baseline.BaselineEntry]],
    left_out: Collection[Case] = (),
    unreleased: bool = False,
    twice: bool = True,
    exhaustive: bool = False,
    jobs: int = JOBS,
    on_progress: Callable[[int], None] = lambda cases: None,
) -> results.Run:
    """Run all selected cases through the gateway. ``jobs``: conversations at a time.

    If the gateway stops answering, the rest of its cases are errors. Raises GatewayFailed if it does not work at all.
    """
    collected = Collected(expected, left_out, unreleased=unreleased)
    all_cases: dict[Case, None] = {}
    _import_wires()
    subjects = [
        GatewaySubject(gateway.name, gateway.version, client, routes) for client, routes in gateway.routes.items()
    ]
    for subject in subjects:
        with_client = Client(gateway.addresses[0], gateway.headers)
        for route in subject.routes.values():
            check_route(with_client, subject.client, route, upstream)
        with_client.close()
    for subject in subjects:
        filtered = replace(case_filter, policies=("all",))
        cases = [case for case in filtered.cases() if case.surface in subject.routes]
        all_cases.update(dict.fromkeys(cases))
        make_judge = partial(GatewayJudge, twice=twice, exhaustive=exhaustive)
        parts = _in_threads(gateway, upstream, subject, cases, make_judge, jobs=jobs)
        collected.add(subject, subject.name, _counted(parts, on_progress))
    return collected.run(all_cases)


def _counted(parts: Iterable[ScenarioResults], on_progress: Callable[[int], None]) -> Iterator[ScenarioResults]:
    """Yield the parts, and report how many cases each one has."""
    for part in parts:
        on_progress(len(part.results))
        yield part


def _import_wires() -> None:
    """Import the parts of all wires, because CPython 3.11 cannot compile modules in several threads reliably."""
    for wire in specs():
        for part in ("decode", "stream", "read", "write", "rules"):
            wire.part(part)
    for wire in judged_wires():
        oracle(wire.name)


def _in_threads(
    gateway: Gateway,
    upstream: Upstream,
    subject: GatewaySubject,
    cases: Sequence[Case],
    make_judge: Callable[..., GatewayJudge],
    *,
    jobs: int,
) -> Iterator[ScenarioResults]:
    """Yield the results scenario by scenario. Each thread has one judge and one connection."""
    local = threading.local()
    counter = iter(range(1 << 30))
    judges: list[GatewayJudge] = []

    def judge() -> GatewayJudge:
        if not hasattr(local, "judge"):
            target = gateway.addresses[next(counter) % len(gateway.addresses)]
            client = Client(target, gateway.headers)
            called = f"{gateway.called} --client {subject.client}" if gateway.called else ""
            local.judge = make_judge(subject, client, upstream, called=called)
            judges.append(local.judge)
        made: GatewayJudge = local.judge
        return made

    stop = threading.Event()
    failed: list[GatewayFailed] = []

    def work(group: list[Case]) -> ScenarioResults:
        if stop.is_set():
            return ScenarioResults([], [])
        if failed:
            return _errors(judge(), group, f"not run, because the gateway failed before: {failed[0]}")
        try:
            return _run_scenario(judge(), group)
        except GatewayFailed as error:
            failed.append(error)
            return _errors(judge(), group, str(error))
        except BaseException:
            stop.set()
            raise

    groups = [list(group) for _, group in groupby(cases, key=lambda case: case.scenario)]
    with _quick_switches(), ThreadPoolExecutor(jobs, thread_name_prefix="gateway-client") as pool:
        try:
            yield from pool.map(work, groups)
        finally:
            stop.set()
    for used in judges:
        used.close()


@contextmanager
def _quick_switches() -> Iterator[None]:
    """Let threads take turns more often: the upstream must answer while the judges compute."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _run_scenario(judge: GatewayJudge, cases: Sequence[Case]) -> ScenarioResults:
    judged = [_with_request(judge, case, judge.result(case)) for case in cases]
    traffic = [excerpt for case in cases if (excerpt := judge.traffic(case)) is not None]
    judge.forget()
    return ScenarioResults(judged, traffic)


def _errors(judge: GatewayJudge, cases: Sequence[Case], reason: str) -> ScenarioResults:
    """Return an error for each of the cases."""
    verdicts = [results.Verdict("conservation", "error", reason)]
    return ScenarioResults([results.Result(judge.subject.name, *case, verdicts) for case in cases], [])


def _with_request(judge: GatewayJudge, case: Case, result: results.Result) -> results.Result:
    """Add the client's request to a result with a failure, so that it can be sent without the suite."""
    failed = next((verdict for verdict in result.verdicts if verdict.outcome == "fail"), None)
    if failed is None:
        return result
    return replace(result, direct=judge.direct_request(case, failed.round or 0))
