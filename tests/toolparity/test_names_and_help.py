"""Unknown names are usage errors that show the nearest; help and hints name no file of a checkout."""

from __future__ import annotations

import ast
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from toolparity import conformance
from toolparity.cli import main

ROOT = Path(conformance.__file__).resolve().parents[1]


def run(*args: Any) -> Result:
    return CliRunner().invoke(main, [str(arg) for arg in args])


#: A command with an unknown name, and the nearest known one.
NEAREST = {
    "adit": "audit",
    "cassettes lst": "list",
    "subjects instal": "install",
    "check --scenario singel-call": "single-call",
    "check --scenario paralel-* --scenario single-call": "parallel-",
    "check --kill --scenario singel-call": "single-call",
    "check --wire openai.cht": "openai.chat",
    "check --surface antropic.messages": "anthropic.messages",
    "check --provider opnai": "openai",
    "check --policy frist": "first",
    "check --mode streem": "stream",
    "check normalizr": "normalizer",
    "check OpenAI-SDK": "openai-sdk",
    "smoke normalizr": "normalizer",
    "audit --wire openai.cht x": "openai.chat",
    "audit --policy frist x": "first",
    "audit --fail-on droped-call x": "dropped-call",
    "audit --fail-on eror x": "error",
    "normalize --wire anthropic.mesages x": "anthropic.messages",
    "record singel-call --into x": "single-call",
    "record --wire xai.grcp --into x": "xai.grpc",
    "record --provider antropic --into x": "anthropic",
    "serve paralel-three": "parallel-three",
    "serve --chunking byte": "bytes",
    "cassettes show singel-call": "single-call",
    "cassettes diff singel-call single-call": "single-call",
    "cassettes diff --fail-on vales a b": "values",
    "cassettes list singel-call": "single-call",
    "cassettes verify single-call paralel-three": "parallel-three",
    "cassettes path singel-call": "single-call",
    "cassettes age singel-call": "single-call",
    "subjects install langchian-core": "langchain-core",
    "subjects remove litelm": "litellm",
    "subjects path litelm": "litellm",
}


@pytest.mark.parametrize("command", NEAREST)
def test_an_unknown_name_is_a_usage_error_with_the_nearest_name(command: str) -> None:
    result = run(*command.split())
    assert result.exit_code == 2, result.output
    assert re.search(rf"did you mean .*{re.escape(NEAREST[command])}", result.stderr), result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("command", [["check", "--wire", "zzz"], ["check", "zzz"], ["check", "--scenario", "zzz"]])
def test_without_a_near_name_all_known_names_are_listed(command: list[str]) -> None:
    result = run(*command)
    assert result.exit_code == 2
    assert "'zzz'; known: " in result.stderr


def test_an_ambiguous_or_missing_cassette_is_a_usage_error() -> None:
    for name, why in (("openai", " cassettes: "), ("zzz", "toolparity cassettes list")):
        result = run("cassettes", "show", name)
        assert (result.exit_code, why in result.stderr) == (2, True)


@pytest.mark.parametrize(
    "command",
    [f"cassettes {name}" for name in ("list", "verify", "path", "age", "orphans", "show x", "diff x y")] + ["serve"],
)
def test_a_missing_library_is_a_usage_error(command: str, tmp_path: Path) -> None:
    result = run(*command.split(), "--library", tmp_path / "nope")
    assert (result.exit_code, "does not exist" in result.stderr) == (2, True), result.output


@pytest.mark.parametrize(
    "filters",
    [
        "--wire xai.grpc --provider anthropic --once --jobs 1",
        "--scenario single-call --surface openai.chat --provider xai --once --jobs 1",
        "--kill --wire xai.grpc --provider anthropic",
        "anthropic-sdk --scenario single-call --wire openai.chat --once --jobs 1",
    ],
)
def test_a_valid_filter_that_selects_nothing_exits_with_code_5(filters: str) -> None:
    result = run("check", *filters.split())
    assert result.exit_code == 5, result.output
    assert "nothing ran: " in result.stderr


# Help and hints


def commands(command: click.Command = main, *names: str) -> Iterator[tuple[str, ...]]:
    yield names
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None
            yield from commands(child, *names, name)


HELPS = sorted(commands())
#: Paths below a folder of a checkout, and files at its top.
_REPOSITORY = re.compile(
    r"(?<![\w/.:-])(?:docs|tests|benchmarks|cassettes|conformance|normalizer|reports|\.ci|\.github)/[\w.*/-]*"
    r"|\b(?:README|CONTRIBUTING|CHANGELOG)\.md\b|\bconstraints\.txt\b"
)
#: Commands of this repository's maintainers write these.
_MAINTAINERS = ("scripts.py", "scenarios.py", "publish.py", "coverage.py")


def help_of(names: tuple[str, ...]) -> str:
    result = CliRunner().invoke(main, [*names, "--help"], terminal_width=200)
    assert result.exit_code == 0
    return result.stdout


@pytest.mark.parametrize("names", HELPS, ids=lambda names: " ".join(names) or "toolparity")
def test_no_help_names_a_path_that_only_the_repository_has(names: tuple[str, ...]) -> None:
    text = help_of(names)
    assert _REPOSITORY.findall(text.replace("./cassettes", "")) == []
    for word in re.findall(r"[\w./-]+\.(?:ya?ml|json|jsonl|html|md|py|har|sse|txt)\b", text):
        assert not (ROOT / word).exists(), word


@pytest.mark.parametrize("names", HELPS, ids=lambda names: " ".join(names) or "toolparity")
def test_every_example_of_the_help_is_a_command_with_options_that_exist(
    names: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parsed and not run: input files are the reader's own, and outputs are only looked at."""
    monkeypatch.chdir(tmp_path)
    for folder in ("my-live-cassettes", "my-scenarios", "recordings"):
        (tmp_path / folder).mkdir()
    for file in ("recordings/openai.chat.jsonl.gz", "prices.toml"):
        (tmp_path / file).touch()
    shutil.copy(ROOT / "cassettes" / "scenarios" / "single-call.toml", tmp_path / "my-scenarios")
    for line in help_of(names).splitlines():
        text = line.strip()
        if not text.startswith("toolparity ") or not line.startswith("  "):
            continue
        words = shlex.split(re.sub(r"\s{3,}.*$", "", re.split(r" [|<>]+ ", text)[0]))[1:]
        _parse(main, words)


def _parse(command: click.Command, words: list[str]) -> None:
    with command.make_context(command.name, words) as context:
        if isinstance(command, click.Group):
            _, child, _ = command.resolve_command(context, words)  # none of the groups has options before its command
            assert child is not None
            _parse(child, words[1:])


def test_the_examples_with_shipped_cassettes_run_in_an_empty_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    library = run("cassettes", "path").stdout.strip()
    assert Path(library).is_dir()
    (one,) = run("cassettes", "path", "anthropic/anthropic.messages/single-call.yaml").stdout.splitlines()
    assert run("normalize", one).exit_code == 0
    piped = CliRunner().invoke(main, ["normalize", "-"], input=Path(one).read_bytes())
    assert (piped.exit_code, len(piped.stdout.splitlines())) == (0, 2), piped.stderr
    assert run("cassettes", "path", "zzz").exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_no_hint_names_a_path_that_only_the_repository_has() -> None:
    found = []
    for package in ("conformance", "audit", "cassettes", "turns", "normalizer", "reports"):
        for path in (ROOT / package).rglob("*.py"):
            if path.name in _MAINTAINERS:
                continue
            text = path.read_text()
            if not _named(re.sub(r"""["']\s*[bfr]*["']""", "", text)):  # nor do strings that are one
                continue
            tree = ast.parse(text)
            described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
            docstrings = {id(n.body[0].value) for n in ast.walk(tree) if isinstance(n, described) and _documented(n)}
            texts = (n for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in docstrings)
            found += [(path.name, n.lineno, n.value) for n in texts if type(n.value) is str and _named(n.value)]
    assert found == []


def _documented(node: Any) -> bool:
    return bool(node.body) and isinstance(node.body[0], ast.Expr)


def _named(text: str) -> bool:
    return any("." in path.rsplit("/", 1)[-1] for path in _REPOSITORY.findall(text))
