"""What the plug-ins share that open cassettes: names, settings, and the cassette of a test.

It imports vcrpy only when a test uses a cassette.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .cassettes.fixture import VCR, FixtureCassette

MODES = ("once", "new_episodes", "none", "all", "rewrite")

_NOT_IN_FILES = str.maketrans(dict.fromkeys("<>?%*:|\"'/\\", "-"))
_INI = {
    "cassette_unplayed": "reaction to recorded interactions that a test did not play: error (default), warn or ignore",
    "cassette_max_age": "days after which a cassette is expired; by default never",
    "cassette_expired": "reaction to an expired cassette: error, warn (default) or ignore",
}
_did_not_pass = pytest.StashKey[bool]()


def add_ini(parser: pytest.Parser) -> None:
    """Register the ini options; a second time changes nothing."""
    for name, meaning in _INI.items():
        parser.addini(name, meaning)


def require_extra() -> None:
    """Fail the test with one line if the extra of cassettes is not installed."""
    from .normalizer.errors import MissingExtra

    try:
        import_module(".cassettes.fixture", __package__)
    except MissingExtra as error:
        pytest.fail(str(error), pytrace=False)


def block_replaced(pluginmanager: pytest.PytestPluginManager) -> None:
    """Disable pytest-recording and pytest-vcr, under the names with which they register themselves."""
    for name in ("recording", "vcr"):
        pluginmanager.set_blocked(name)


def note_outcome(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Note that a test failed or was skipped: such a test need not play everything."""
    if call.excinfo is not None:
        item.stash[_did_not_pass] = True


def default_folder(request: pytest.FixtureRequest) -> str:
    """Return pytest-recording's folder for a module: ``cassettes/<module>`` beside it."""
    path = Path(request.node.path)
    return str(path.parent / "cassettes" / path.stem)


def default_name(request: pytest.FixtureRequest) -> str:
    """Return pytest-recording's name for a test: ``test_name`` or ``TestClass.test_name``."""
    name = f"{request.cls.__name__}.{request.node.name}" if request.cls else request.node.name
    return str(name.translate(_NOT_IN_FILES))


def overridden(request: pytest.FixtureRequest, default: Any, *others: Any) -> Any:
    """Return what the fixture of the same name returns that an earlier plug-in defined, or ``default``.

    Among plug-ins, the last one's fixture counts, whatever the order should be: a project's own plug-in may be loaded
    before ours. ``others``: values of the replaced plug-ins that do not count.
    """
    name = request.fixturename
    try:
        value = request.getfixturevalue(str(name))
    except pytest.FixtureLookupError as error:
        if error.argname != name:
            raise
        return default
    return default if value in others else value


def merged(config: dict[str, Any], marks: list[pytest.Mark]) -> dict[str, Any]:
    """Return the settings of a configuration and of marks, the closest first, which takes precedence."""
    settings = dict(config)
    for mark in reversed(marks):
        settings.update(mark.kwargs)
    return settings


@contextlib.contextmanager
def opened(
    request: pytest.FixtureRequest, name: str, folder: str, settings: dict[str, Any], marks: list[pytest.Mark]
) -> Iterator[FixtureCassette]:
    """Open the cassette of a test. ``marks``: their arguments are further cassettes to play."""
    require_extra()
    from .cassettes.fixture.files import file_name
    from .cassettes.fixture.saving import ReadablePersister

    config = request.config
    name = file_name(name, f".{settings.get('serializer', 'yaml')}")
    old = Path(folder, name)
    rewrites = settings.get("record_mode") == "rewrite"
    if rewrites:
        settings["record_mode"] = "new_episodes"
    used = vcr_of(config, cassette_library_dir=folder, record_mode=settings.get("record_mode", "none"))
    also = [os.path.join(folder, path) for mark in marks for path in mark.args]
    used.register_persister(ReadablePersister(also, rewrites=rewrites))
    if hasattr(config.hook, "pytest_recording_configure"):
        config.hook.pytest_recording_configure(config=config, vcr=used)
    if rewrites and not isinstance(used.persister, ReadablePersister):  # it would read the old file
        old.unlink(missing_ok=True)
    with used.use_cassette(name, **settings) as cassette:
        yield cassette
        if not passed(request, cassette):
            return
        if rewrites and not cassette.has_recorded:
            old.unlink(missing_ok=True)


def vcr_of(config: pytest.Config, **settings: Any) -> VCR:
    """Return a VCR with the rules of the ini options, which ``settings`` may override."""
    require_extra()
    from .cassettes.fixture import VCR

    rules: dict[str, Any] = {n: value for n in ("unplayed", "expired") if (value := config.getini(f"cassette_{n}"))}
    if days := config.getini("cassette_max_age"):
        try:
            rules["max_age"] = float(days)
        except ValueError:
            raise pytest.UsageError(f"cassette_max_age must be a number of days, got {days!r}") from None
    return VCR(**{**rules, **settings})


def passed(request: pytest.FixtureRequest, cassette: FixtureCassette) -> bool:
    """Return whether the test passed so far. The cassette of another test need not be played to its end."""
    if request.node.stash.get(_did_not_pass, False):
        cassette.ignore_unplayed()
        return False
    return True
