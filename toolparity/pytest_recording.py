"""Pytest plug-in with the marks, options, fixtures and files of pytest-recording, on toolparity's cassettes.

    pytest_plugins = ["toolparity.pytest_recording"]     # in the conftest.py of the root folder

or ``-p toolparity.pytest_recording`` on the command line. It replaces pytest-recording and pytest-vcr: where they are
installed, it disables them for the run and takes over the options that they registered. Tests that use pytest-vcr's
fixtures need `toolparity.pytest_vcr` instead.

Keys of the fixture ``vcr_config`` and of the mark are vcrpy's settings and those of `toolparity.cassettes.fixture`:
``unplayed``, ``max_age``, ``expired`` and ``keep_headers``. The ini options ``cassette_unplayed``, ``cassette_max_age``
and ``cassette_expired`` apply to all tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from .pytest_cassettes import (
    MODES,
    add_ini,
    block_replaced,
    default_folder,
    default_name,
    merged,
    note_outcome,
    opened,
    overridden,
    require_extra,
)

if TYPE_CHECKING:
    from .cassettes.fixture import VCR, FixtureCassette

_MARKS = (
    "vcr(*paths, **settings): answer the requests of the test from a cassette; further paths are played as well",
    "default_cassette(name): the name of the test's cassette",
    "block_network(allowed_hosts=None): refuse connections, except while a cassette is recorded",
    "allowed_hosts(hosts): regular expressions of hosts that remain reachable",
)


class Hooks:
    """The hooks that this plug-in calls."""

    @pytest.hookspec
    def pytest_recording_configure(self, config: pytest.Config, vcr: VCR) -> None:
        """Change the VCR of a test, for example register matchers and serializers, before its cassette opens."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    replaces = pluginmanager.has_plugin("recording")
    block_replaced(pluginmanager)
    add_ini(parser)
    if replaces:
        return
    pluginmanager.add_hookspecs(Hooks)
    group = parser.getgroup("recording")
    group.addoption("--record-mode", choices=MODES, default=None, help='VCR.py record mode. Default to "none".')
    group.addoption("--block-network", action="store_true", help="block network access, except while recording")
    group.addoption(
        "--allowed-hosts", default=None, help="regular expressions of hosts that remain reachable, separated by commas"
    )
    group.addoption("--disable-recording", action="store_true", help="open no cassettes")


def pytest_configure(config: pytest.Config) -> None:
    for mark in _MARKS:
        config.addinivalue_line("markers", mark)


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Note which tests did not pass."""
    note_outcome(item, call)


@pytest.fixture(scope="session")
def record_mode(request: pytest.FixtureRequest) -> str:
    """The record mode of the command line."""
    return request.config.getoption("--record-mode") or "none"


@pytest.fixture(scope="session")
def disable_recording(request: pytest.FixtureRequest) -> bool:
    """Whether cassettes are disabled."""
    return bool(request.config.getoption("--disable-recording"))


@pytest.fixture
def vcr_config(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Settings of all cassettes, to override."""
    return dict(overridden(request, {}))


@pytest.fixture
def vcr_markers(request: pytest.FixtureRequest) -> list[pytest.Mark]:
    """The marks ``vcr`` of the test, the closest first."""
    return list(request.node.iter_markers("vcr"))


@pytest.fixture(scope="module")
def vcr_cassette_dir(request: pytest.FixtureRequest) -> str:
    """The folder of the module's cassettes, to override."""
    return str(overridden(request, default_folder(request), str(request.node.path.parent / "cassettes")))


@pytest.fixture
def default_cassette_name(request: pytest.FixtureRequest) -> str:
    """The name of the test's cassette, without its suffix: ``test_name`` or ``TestClass.test_name``."""
    mark = request.node.get_closest_marker("default_cassette")
    if mark is not None:
        if not mark.args:
            raise pytest.UsageError("the mark default_cassette needs a name")
        return str(mark.args[0])
    return str(overridden(request, default_name(request)))


@pytest.fixture
def allowed_hosts(request: pytest.FixtureRequest) -> list[str] | None:
    """Regular expressions of reachable hosts: of the mark ``block_network``, the command line, or ``vcr_config``."""
    mark = request.node.get_closest_marker("block_network")
    hosts = (
        (mark.kwargs if mark is not None else {}).get("allowed_hosts")
        or request.config.getoption("--allowed-hosts")
        or request.getfixturevalue("vcr_config").get("allowed_hosts")
    )
    return hosts.split(",") if isinstance(hosts, str) else hosts


@pytest.fixture(autouse=True)
def block_network(request: pytest.FixtureRequest, record_mode: str, vcr_markers: list[pytest.Mark]) -> Iterator[None]:
    """Refuse connections if the mark or the option says so, except while a cassette is recorded."""
    mark = request.node.get_closest_marker("block_network")
    if mark is not None and (mark.args or mark.kwargs.keys() - {"allowed_hosts"}):
        raise pytest.UsageError(
            "Invalid arguments to `block_network`. It accepts only the following keyword arguments: `allowed_hosts`. "
            f"Got args: {mark.args!r}; kwargs: {mark.kwargs!r}"
        )
    if vcr_markers and request.config.getoption("--record-mode") is None:
        record_mode = merged(request.getfixturevalue("vcr_config"), vcr_markers).get("record_mode", "none")
    blocked = mark is not None or request.config.getoption("--block-network")
    if not blocked or (vcr_markers and record_mode != "none"):
        yield
        return
    require_extra()
    from .cassettes.fixture.network import blocked_network

    with blocked_network(request.getfixturevalue("allowed_hosts")):
        yield


@pytest.fixture(autouse=True)
def _vcr_marker() -> None:
    """Override pytest-vcr's fixture of this name, which opens another cassette for the mark.

    A conftest is loaded after the installed plug-ins: then their hooks can be removed, but not their fixtures.
    """


@pytest.fixture(autouse=True)
def vcr(
    request: pytest.FixtureRequest,
    vcr_markers: list[pytest.Mark],
    vcr_cassette_dir: str,
    record_mode: str,
    disable_recording: bool,
) -> Iterator[FixtureCassette | None]:
    """The cassette of a test with the mark ``vcr``, else None."""
    if disable_recording or not vcr_markers:
        yield None
        return
    name = request.getfixturevalue("default_cassette_name")
    settings = merged(request.getfixturevalue("vcr_config"), vcr_markers)
    with opened(request, name, vcr_cassette_dir, {"record_mode": record_mode, **settings}, vcr_markers) as cassette:
        yield cassette
