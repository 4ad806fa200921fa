"""Pytest plug-in with the mark, options, fixtures and files of pytest-vcr, on toolparity's cassettes.

    pytest_plugins = ["toolparity.pytest_vcr"]     # in the conftest.py of the root folder

or ``-p toolparity.pytest_vcr`` on the command line. Where pytest-vcr is installed, the plug-in disables it for the run
and takes over the options that it registered. The fixture ``vcr`` is a `cassettes.fixture.VCR` of the module, so that
tests and other fixtures open cassettes and register serializers, persisters and matchers with it as before.

Keys of the fixture ``vcr_config`` are vcrpy's settings and those of `toolparity.cassettes.fixture`. The ini options
``cassette_unplayed``, ``cassette_max_age`` and ``cassette_expired`` apply to all tests.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from .pytest_cassettes import add_ini, block_replaced, default_folder, note_outcome, overridden, passed, vcr_of

if TYPE_CHECKING:
    from .cassettes.fixture import VCR, FixtureCassette

#: pytest-vcr has no mode that replaces the file as a whole.
_MODES = ("once", "new_episodes", "none", "all")


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    replaces = pluginmanager.has_plugin("vcr")
    block_replaced(pluginmanager)
    add_ini(parser)
    if replaces:
        return
    group = parser.getgroup("vcr")
    group.addoption("--vcr-record", choices=_MODES, default=None, help="Set the recording mode for VCR.py.")
    group.addoption("--vcr-record-mode", dest="deprecated_vcr_record", choices=_MODES, help="DEPRECATED: --vcr-record")
    group.addoption("--disable-vcr", action="store_true", help="play and record nothing")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "vcr(**settings): answer the requests of the test from a cassette")


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Note which tests did not pass."""
    note_outcome(item, call)


def _settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Return what the closest mark and the command line set."""
    mark = request.node.get_closest_marker("vcr")
    settings = dict(mark.kwargs) if mark is not None else {}
    option = request.config.getoption
    if mode := option("--vcr-record") or option("--vcr-record-mode"):
        settings["record_mode"] = mode
    if option("--disable-vcr"):
        settings |= {"record_mode": "new_episodes", "before_record_response": lambda response: None}
    return settings


@pytest.fixture(scope="module")
def vcr_config(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Settings of all cassettes, to override."""
    return dict(overridden(request, {}))


@pytest.fixture(scope="module")
def vcr_cassette_dir(request: pytest.FixtureRequest) -> str:
    """The folder of the cassettes, to override: ``cassettes`` beside the module."""
    return str(overridden(request, request.node.path.parent / "cassettes", default_folder(request)))


@pytest.fixture
def vcr_cassette_name(request: pytest.FixtureRequest) -> str:
    """The name of the test's cassette, without its suffix: ``test_name`` or ``TestClass.test_name``."""
    name = f"{request.cls.__name__}.{request.node.name}" if request.cls else request.node.name
    return str(overridden(request, name))


@pytest.fixture(scope="module")
def vcr(request: pytest.FixtureRequest, vcr_config: dict[str, Any], vcr_cassette_dir: str) -> VCR:
    """The VCR of the module."""
    from .cassettes.fixture import VCR

    own = {"cassette_library_dir": os.fspath(vcr_cassette_dir), "path_transformer": VCR.ensure_suffix(".yaml")}
    return vcr_of(request.config, **{**own, **vcr_config, **_settings(request)})


@pytest.fixture
def vcr_cassette(request: pytest.FixtureRequest, vcr: VCR, vcr_cassette_name: str) -> Iterator[FixtureCassette]:
    """The cassette of the test."""
    with vcr.use_cassette(vcr_cassette_name, **_settings(request)) as cassette:
        yield cassette
        passed(request, cassette)


@pytest.fixture(autouse=True)
def _vcr_marker(request: pytest.FixtureRequest) -> None:
    """Open the cassette of a test with the mark."""
    if request.node.get_closest_marker("vcr") is not None:
        request.getfixturevalue("vcr_cassette")
