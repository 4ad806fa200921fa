"""What a wheel installs: one import name, which collides with no package of a user, and a command that works alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("normalizer", "turns", "cassettes", "audit", "conformance", "reports")
#: A test that builds and installs the wheel.
INSTALLED = pytest.mark.page(
    "pyproject.toml", "hatch_build.py", "toolparity/__init__.py", "toolparity/cli.py", "toolparity/pytest_plugin.py"
)
#: What the distribution depends on without any extra.
BASE = ("click", "msgspec", "PyYAML", "rich", "tabulate", "markdown-it-py", "mdurl", "Pygments")
SUBJECT = """\
import json


class Subject:
    wires = ["openai.chat"]

    def read(self, ask):
        message = json.loads(ask.body)["choices"][0]["message"]
        return {"calls": [{"id": call["id"], **call["function"]} for call in message.get("tool_calls") or []]}
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shelf = tmp_path_factory.mktemp("wheel")
    _run(ROOT, sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(shelf))
    (built,) = shelf.glob("toolparity-*.whl")
    return built


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment with the wheel and what it depends on without any extra."""
    return _environment(tmp_path_factory.mktemp("bare") / "venv", wheel, BASE)


@pytest.fixture(scope="module")
def full(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an environment with the wheel and every distribution that is installed here."""
    others = [one.name for one in metadata.distributions() if one.name.lower() not in ("toolparity", "pip")]
    return _environment(tmp_path_factory.mktemp("full") / "venv", wheel, others)


def _required(wheel: Path, extra: str) -> list[str]:
    """The distributions that the wheel needs with an extra, in this environment, and those that they need."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        own = metadata.PathDistribution(zipfile.Path(archive, name.removesuffix("METADATA"))).requires or []
        found: dict[str, None] = {}
        open_ones = [("toolparity", extra)]
        while open_ones:
            distribution, chosen = open_ones.pop()
            if f"{distribution}[{chosen}]" in found:
                continue
            found[f"{distribution}[{chosen}]"] = None
            for line in own if distribution == "toolparity" else metadata.requires(distribution) or []:
                wanted = Requirement(line)
                if wanted.marker is None or wanted.marker.evaluate({"extra": chosen}):
                    open_ones += [(wanted.name, other) for other in (wanted.extras or {""})]
    return [one for one in {name.partition("[")[0]: None for name in found} if one != "toolparity"]


def _environment(home: Path, wheel: Path, distributions: tuple[str, ...] | list[str]) -> Path:
    venv.create(home, symlinks=True)
    (site,) = home.glob("lib/python*/site-packages")
    for name in distributions:
        for path in metadata.files(name) or ():
            top = site / path.parts[0]
            if path.parts[0] not in ("..", "__pycache__") and not path.parts[0].endswith(".pth") and not top.exists():
                found = Path(str(metadata.distribution(name).locate_file(path.parts[0])))
                if found.exists():
                    top.symlink_to(found)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    script = home / "bin" / "toolparity"
    script.write_text(
        f"#!{home / 'bin' / 'python'}\nfrom toolparity.cli import main\n\nif __name__ == '__main__':\n    main()\n"
    )
    script.chmod(0o755)
    return home


def _run(folder: Path, *command: str, code: int = 0) -> str:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST", "COLUMNS"))}
    ended = subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, check=False)
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


@INSTALLED
def test_the_wheel_holds_one_top_level_module_which_is_typed(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"toolparity"}
    assert {"toolparity/py.typed", *(f"toolparity/{folder}/py.typed" for folder in FOLDERS)} <= names


@pytest.mark.page("pyproject.toml", "hatch_build.py", "README.md")
def test_the_readme_on_the_index_names_files_of_the_repository_at_the_tag() -> None:
    fields = json.loads(_run(ROOT, sys.executable, "-m", "hatchling", "metadata"))
    tokens = [child for token in MarkdownIt().parse(fields["readme"]["text"]) for child in token.children or ()]
    targets = [str(one.attrs.get("href") or one.attrs["src"]) for one in tokens if one.type in ("image", "link_open")]
    at_tag = rf"{re.escape(fields['urls']['Repository'])}/(?:raw|blob)/v{re.escape(fields['version'])}/"
    assert len(targets) > 40
    assert [one for one in targets if not Path("/", re.sub(at_tag, f"{ROOT}/", one)).exists()] == []


@INSTALLED
def test_a_checkout_without_symbolic_links_and_the_source_distribution_give_the_same_wheel(
    wheel: Path, tmp_path: Path
) -> None:
    clone, hatchling = tmp_path / "clone", (sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path / "shelf"))
    _run(ROOT, "git", "clone", "-q", "-c", "core.symlinks=false", str(ROOT), str(clone))
    for path in _run(ROOT, "git", "ls-files", "-mo", "--exclude-standard").splitlines():  # also what is not committed
        if (ROOT / path).is_file():
            (clone / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, clone / path)
    assert (clone / "toolparity" / "turns").is_file()
    program = f"import sys; sys.path[:0] = [{str(clone)!r}]; from toolparity.cassettes import vcr_grpc as it; print(it)"
    assert str(clone / "dists") in _run(tmp_path, sys.executable, "-c", program)
    _run(clone, *hatchling, "-t", "sdist")
    shutil.unpack_archive(next((tmp_path / "shelf").glob("*.tar.gz")), tmp_path / "source")
    for folder in (clone, *(tmp_path / "source").iterdir()):
        _run(folder, *hatchling, "-t", "wheel")
        assert (tmp_path / "shelf" / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.mark.parametrize(
    "arguments", [(), ("--parity-subject", "my_subject:Subject", "--parity-scenario", "single-call")]
)
@INSTALLED
def test_a_users_own_packages_of_the_same_names_are_theirs(
    full: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    for folder in FOLDERS:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text("MINE = True\n")
    imports = "\n".join(f"import {folder}" for folder in FOLDERS)
    checks = " and ".join(f"{folder}.MINE" for folder in FOLDERS)
    (tmp_path / "test_mine.py").write_text(f"{imports}\n\n\ndef test_mine() -> None:\n    assert {checks}\n")
    (tmp_path / "my_subject.py").write_text(SUBJECT)
    printed = _run(tmp_path, str(full / "bin" / "python"), "-m", "pytest", "-q", *arguments)
    assert " passed" in printed
    assert ("1 passed" in printed) is not bool(arguments)


@INSTALLED
def test_the_suite_is_not_imported_until_it_is_used(full: Path, tmp_path: Path) -> None:
    (tmp_path / "test_loaded.py").write_text(
        "import sys\n\n\ndef test_loaded() -> None:\n"
        "    assert not [name for name in sys.modules if name.startswith('toolparity.conformance')]\n"
        "    assert 'msgspec' not in sys.modules\n"
    )
    _run(tmp_path, str(full / "bin" / "python"), "-m", "pytest", "-q")


@INSTALLED
def test_reading_commands_work_without_any_extra(plain: Path, tmp_path: Path) -> None:
    command = str(plain / "bin" / "toolparity")
    examples = str(ROOT / "cassettes" / "examples")
    assert "version" in _run(tmp_path, command, "--version")
    assert "audit" in _run(tmp_path, command, "--help")
    assert '"tool_call"' in _run(tmp_path, command, "normalize", examples)
    assert "openai.chat" in _run(tmp_path, command, "audit", examples)
    assert "ollama" in _run(tmp_path, command, "cassettes", "list", "ollama")


@INSTALLED
def test_a_command_that_needs_an_extra_names_the_smallest_one(plain: Path, tmp_path: Path) -> None:
    suite = ("check", "demo", "gateway", "history litellm", "record single-call", "serve --port 0")
    for command, extra in [
        *((command, "conformance") for command in suite),
        ("cassettes verify single-call.yaml", "cassettes"),
        (f"cassettes scan {ROOT}/cassettes/examples", "cassettes"),
        (f"audit {ROOT}/cassettes/examples --html x.html", "html"),
    ]:
        printed = _run(tmp_path, str(plain / "bin" / "toolparity"), *command.split(), code=2)
        assert f"pip install 'toolparity[{extra}]'" in printed, command
        assert "Traceback" not in printed


@INSTALLED
def test_the_extra_of_cassettes_is_enough_to_maintain_and_play_them(wheel: Path, tmp_path: Path) -> None:
    home, cassettes = _environment(tmp_path / "venv", wheel, _required(wheel, "cassettes")), ROOT / "cassettes"
    command = str(home / "bin" / "toolparity")
    assert not list(home.glob("lib/python*/site-packages/openai"))
    assert "0 of" in _run(tmp_path, command, "cassettes", "scan", str(cassettes / "recorded" / "xai" / "xai.grpc"))
    assert "1 of 1" in _run(tmp_path, command, "cassettes", "check", str(cassettes / "examples" / "openai.chat.yaml"))
    (tmp_path / "cassettes" / "test_mine").mkdir(parents=True)
    shutil.copy(cassettes / "recorded/openai/openai.chat/refusal.yaml", tmp_path / "cassettes/test_mine/test_mine.yaml")
    (tmp_path / "test_mine.py").write_text("def test_mine(toolparity_cassette): toolparity_cassette.ignore_unplayed()")
    assert "1 passed" in _run(tmp_path, str(home / "bin" / "python"), "-m", "pytest", "-q", "test_mine.py")


@INSTALLED
def test_the_demo_needs_no_extra_beyond_that_of_the_suite(wheel: Path, tmp_path: Path) -> None:
    home = _environment(tmp_path / "venv", wheel, _required(wheel, "conformance"))
    program = "from toolparity.conformance.demo.server import ready_to_serve\n"
    program += "with ready_to_serve('sqlite:///turns.db') as app:\n    print('ready')"
    assert "ready" in _run(tmp_path, str(home / "bin" / "python"), "-c", program)


@INSTALLED
def test_the_plugin_names_the_extra_that_it_needs(wheel: Path, tmp_path: Path) -> None:
    home = _environment(tmp_path / "venv", wheel, ("msgspec", "pytest", "pluggy", "iniconfig", "packaging", "Pygments"))
    (tmp_path / "test_mine.py").write_text("def test_mine() -> None:\n    pass\n")
    (tmp_path / "my_subject.py").write_text(SUBJECT)
    python = str(home / "bin" / "python")
    assert "1 passed" in _run(tmp_path, python, "-m", "pytest", "-q", "test_mine.py")
    printed = _run(tmp_path, python, "-m", "pytest", "-q", "--parity-subject", "my_subject:Subject", code=4)
    assert "pip install 'toolparity[conformance]'" in printed
    assert "Traceback" not in printed


#: Modules that cost more than all of `normalize`, or that only some callers need.
_SLOW = "asyncio base64 dataclasses email http importlib.metadata importlib.util json logging socket ssl typing zlib"
_OTHERS = "openai anthropic xai_sdk grpc google yaml click pydantic vcr"


def _isolated(program: str) -> list[str]:
    """Run a program with this tree and the installed packages on its path, but without what .pth files import."""
    paths = [str(ROOT), sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    return _run(ROOT, sys.executable, "-I", "-S", "-c", f"import sys; sys.path[:0] = {paths}\n{program}").splitlines()


def test_importing_the_package_or_the_plugin_loads_no_sdk_no_suite_and_little_else() -> None:
    program = "import pytest; before = set(sys.modules); import toolparity.pytest_plugin\n"
    program += "new = set(sys.modules) - before\n"
    program += "print([name for name in new if name.startswith('toolparity.conformance') or name == 'msgspec'])"
    assert _isolated(program) == ["[]"]
    program = "import msgspec, msgspec.json; before = set(sys.modules)\n"
    program += "from toolparity import normalize\n"
    program += f"print([name for name in {(_SLOW + ' ' + _OTHERS).split()} if name in set(sys.modules) - before])\n"
    program += "print(len(set(sys.modules) - before))"
    heavy, count = _isolated(program)
    assert heavy == "[]"
    assert int(count) < 40
