"""Pytest plug-in that runs the conformance suite as ordinary tests of any repository.

    pytest --parity-subject my.module:Subject

The same settings can be members of ``[tool.toolparity]`` in pyproject.toml: ``subject``, ``baseline``, ``scenarios``,
``wires``, ``policies`` and the other keys of `_MEMBERS`. Command-line options take precedence. If ``scenarios`` is a
text, it is the folder of the project's own scenarios, which replace the shipped ones.

Each case is one test with a name like ``parallel-three[anthropic.messages-stream-first]``, selectable with -k and -m. A
test fails if its subject breaks a law. Without a subject the plug-in adds no test and does not import the suite.

Independent of the suite, the fixture and the mark ``toolparity_cassette`` give a test a cassette
(`toolparity.cassettes.fixture`): `pytest --cassette-mode once` records it, and later runs answer from it.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from .pytest_cassettes import (
    MODES,
    add_ini,
    default_folder,
    default_name,
    merged,
    note_outcome,
    opened,
    require_extra,
)

if TYPE_CHECKING:
    from .cassettes.fixture import FixtureCassette

_MARKS = {
    "parity": "a case of the toolparity conformance suite",
    "parity_plain": "the responses are plain",
    "parity_stream": "the responses are streamed",
    "parity_first": "under the policy first",
    "parity_all": "under the policy all",
    "parity_batch": "under the policy batch",
    "toolparity_cassette(*paths, name=None, **settings)": "answer the requests of the test from a cassette",
}
_CASSETTE = "toolparity_cassette"
_LISTS = ("scenarios", "surfaces", "providers", "wires", "policies", "modes")
#: Member of ``[tool.toolparity]`` -> the type of its value.
_MEMBERS: dict[str, type] = {
    "subject": str,
    "subjects": list,
    "baseline": str,
    "unreleased": bool,
    "fail_on": list,
    **dict.fromkeys(_LISTS, list),
}
#: The member that is a list of patterns, or the path of the user's own folder of scenarios.
_FOLDER = "scenarios"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("toolparity", "conformance of tool calls (toolparity)")
    group.addoption(
        "--parity-subject",
        action="append",
        default=[],
        metavar="SUBJECT",
        help="run this subject against the suite: my.module:Subject, an entry point, a shipped name, or exec:COMMAND",
    )
    group.addoption("--parity-baseline", metavar="FILE", help="the file of expected failures")
    group.addoption(
        "--parity-unreleased",
        action="store_true",
        help="also fail for checks that the last release does not require",
    )
    group.addoption(
        "--parity-fail-on",
        action="append",
        default=[],
        metavar="OUTCOME,...",
        help="a test fails on these outcomes only, as with `toolparity check --fail-on`",
    )
    group.addoption(
        "--parity-report", metavar="FILE", help="write the results as JSON, as `toolparity check --json` does"
    )
    for name in _LISTS:
        group.addoption(
            f"--parity-{name.removesuffix('s') if name != 'policies' else 'policy'}",
            dest=f"parity_{name}",
            action="append",
            default=[],
            metavar="NAME",
            help=f"only these {name}",
        )

    group.addoption(
        "--cassette-mode",
        choices=MODES,
        default=None,
        help="record mode of the fixture and mark toolparity_cassette: none (default, records nothing), once, "
        "new_episodes, all or rewrite",
    )
    add_ini(parser)


def pytest_configure(config: pytest.Config) -> None:
    for mark, meaning in _MARKS.items():
        config.addinivalue_line("markers", f"{mark}: {meaning}")
    if file := config.getoption("--parity-report"):
        try:
            from toolparity.reports.files import unwritable

            from .conformance.plugin.report import ResultCollector, ResultSender
        except ModuleNotFoundError as error:
            raise _missing_extra(error) from None

        config.pluginmanager.register(ResultSender(), "toolparity-result-sender")
        if not hasattr(config, "workerinput"):  # the main process collects the results of xdist workers
            path = config.invocation_params.dir / file
            if why := unwritable(path):
                raise pytest.UsageError(f"--parity-report {file} cannot be written: {why}")
            config.pluginmanager.register(ResultCollector(path), "toolparity-result-collector")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Open a cassette for a test with the mark, also if it does not request the fixture."""
    names = getattr(item, "fixturenames", None)
    if names is not None and _CASSETTE not in names and item.get_closest_marker(_CASSETTE) is not None:
        names.insert(0, _CASSETTE)


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    """Note which tests did not pass."""
    note_outcome(item, call)


@pytest.fixture
def toolparity_cassette(request: pytest.FixtureRequest) -> Iterator[FixtureCassette]:
    """A cassette for the test: ``cassettes/<module>/<test>.yaml``, with requests matched by their meaning."""
    require_extra()
    from .cassettes.fixture.vcr import check_settings
    from .cassettes.matching import MATCHERS

    marks = list(request.node.iter_markers(_CASSETTE))
    check_settings(name for mark in marks for name in mark.kwargs if name != "name")
    settings = merged({"match_on": tuple(MATCHERS)}, marks)
    mode = request.config.getoption("--cassette-mode")
    settings["record_mode"] = mode or settings.get("record_mode", "none")
    name = settings.pop("name", None) or default_name(request)
    with opened(request, name, default_folder(request), settings, marks) as cassette:
        yield cassette


def pytest_report_header(config: pytest.Config) -> str | None:
    """Return the header line that names the subjects and says whether they are skipped; None without a subject."""
    subjects = _settings(config)["subjects"]
    if not subjects:
        return None
    why = " (skipped, because single files were selected)" if _selects_files(config) else ""
    return f"toolparity: {', '.join(subjects)}{why}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the cases of each subject, before -k and -m deselect items.

    Raises `pytest.UsageError` if a dependency of the suite is not installed.
    """
    settings = _settings(config)
    if not settings["subjects"] or _selects_files(config):
        return
    try:
        from .conformance.plugin.cases import SubjectCollector
    except ModuleNotFoundError as error:
        raise _missing_extra(error) from None

    _use_own_scenarios(config)
    if (root := str(config.rootpath)) not in sys.path:
        sys.path.insert(0, root)  # the subject may be in the folder of pyproject.toml
    for name in settings["subjects"]:
        collector: SubjectCollector = SubjectCollector.from_parent(
            session, name="toolparity", nodeid="toolparity", settings=settings, subject=name
        )
        config.add_cleanup(collector.close)
        collected: list[pytest.Item | pytest.Collector] = [*collector.collect()]
        report = pytest.CollectReport(collector.nodeid, "passed", None, collected)
        collector.ihook.pytest_collectreport(report=report)  # so that pytest counts them like other tests
        items.extend(item for item in collected if isinstance(item, pytest.Item))


def _use_own_scenarios(config: pytest.Config) -> None:
    """Use the project's own scenarios, if pyproject.toml names their folder, until the run ends."""
    folder = _table(config).get(_FOLDER)
    if not isinstance(folder, str):
        return
    from toolparity.normalizer.errors import ToolparityError

    from .cassettes import own_scenarios as own

    try:
        own.use(config.rootpath / folder)
    except ToolparityError as error:
        raise pytest.UsageError(str(error)) from None
    config.add_cleanup(lambda: own.use(None))


def _missing_extra(error: ModuleNotFoundError) -> pytest.UsageError:
    """Return what to install for a missing module. Re-raises the error if the module belongs to toolparity."""
    if (error.name or "toolparity").startswith("toolparity"):
        raise error
    return pytest.UsageError(f"the suite needs {error.name}: pip install 'toolparity[conformance]'")


def _selects_files(config: pytest.Config) -> bool:
    """Return whether the user runs only named files or tests: the subject of pyproject.toml does not apply then."""
    if config.getoption("--parity-subject"):
        return False
    folder = config.invocation_params.dir
    return bool(config.args) and all("::" in argument or (folder / argument).is_file() for argument in config.args)


def _settings(config: pytest.Config) -> dict[str, Any]:
    """Return the settings: options of the command line, completed from pyproject.toml.

    Raises `pytest.UsageError` for invalid settings or a baseline option that names no file.
    """
    table = _table(config)
    subjects = config.getoption("--parity-subject") or table.get("subjects") or []
    if not subjects and "subject" in table:
        subjects = [table["subject"]]
    baseline = None
    if (file := config.getoption("--parity-baseline")) is not None:
        baseline = config.invocation_params.dir / file
        if not baseline.is_file():
            raise pytest.UsageError(f"--parity-baseline: the file does not exist: {file}")
    elif "baseline" in table:
        baseline = config.rootpath / table["baseline"]
    if isinstance(table.get(_FOLDER), str):
        table = {name: value for name, value in table.items() if name != _FOLDER}
    settings: dict[str, Any] = {name: config.getoption(f"parity_{name}") or table.get(name) or [] for name in _LISTS}
    settings["unreleased"] = config.getoption("--parity-unreleased") or table.get("unreleased", False)
    settings["fail_on"] = config.getoption("--parity-fail-on") or table.get("fail_on") or []
    return {**settings, "subjects": subjects, "baseline": baseline}


def _table(config: pytest.Config) -> dict[str, Any]:
    """Return the validated table ``[tool.toolparity]``, empty if there is none. Raises `pytest.UsageError`."""
    path = config.rootpath / "pyproject.toml"
    if not path.is_file():
        return {}
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text("utf-8")).get("tool", {}).get("toolparity", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise pytest.UsageError(f"{path}: {error}") from None
    where = f"{path}: [tool.toolparity]"
    if unknown := table.keys() - _MEMBERS.keys():
        raise pytest.UsageError(f"{where}: unknown: {', '.join(sorted(unknown))}; known: {', '.join(_MEMBERS)}")
    for member, value in table.items():
        kind = _MEMBERS[member]
        if member == _FOLDER and isinstance(value, str):
            continue
        texts = isinstance(value, list) and all(isinstance(text, str) for text in value)
        if type(value) is not kind or (kind is list and not texts):
            raise pytest.UsageError(f"{where}: {member} must be {_KINDS[kind]}: {value!r}")
    return table


_KINDS: dict[type, str] = {str: "a string", bool: "true or false", list: "a list of strings"}
