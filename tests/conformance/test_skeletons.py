"""`toolparity subject new`: every skeleton works as it is, in a clean folder, by the commands of its README."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.programs import needed
from tests.support.thoroughness import is_thorough
from toolparity.cassettes.cli import exits
from toolparity.cli import main
from toolparity.conformance import skeletons

from .pages import blocks, do

#: Language -> the program that it needs. CI installs Node only: without the others their tests are skipped.
COMPILERS = {"go": "go", "rust": "cargo"}


def new(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["subject", "new", *arguments])


def environment(home: Path) -> dict[str, str]:
    """Our command first on the path, and compilers that write below ``home`` alone."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "TOOLPARITY"))}
    return {**kept, "PATH": path, "GOCACHE": str(home / "go-cache"), "GOFLAGS": "-mod=mod", "CARGO_NET_OFFLINE": "true"}


@pytest.mark.page("conformance/skeletons")
@pytest.mark.thorough(keep=1, per="{language}")
@pytest.mark.parametrize("kind", skeletons.KINDS)
@pytest.mark.parametrize("language", skeletons.LANGUAGES)
def test_a_skeleton_works_by_the_commands_of_its_readme(
    language: str, kind: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if language == "node":
        needed("node", what="Node")
    elif language in COMPILERS and shutil.which(COMPILERS[language]) is None:
        pytest.skip(f"{COMPILERS[language]} is not installed")
    folder = tmp_path / "Acme Gateway"
    made = new("--language", language, "--kind", kind, str(folder))
    assert made.exit_code == 0, made.output
    steps = [block for block in blocks(str(folder / "README.md")) if block.language == "sh"]
    *quick, everything = steps
    smoke = next(block for block in quick if "toolparity smoke" in block.text)
    home = tmp_path_factory.mktemp("home")
    for block in quick:
        printed = do(block, folder, environment(home), "")
        if block is smoke:
            claim, modes = ("runs", ["plain"]) if kind == "agent" else ("stream", ["plain", "stream"])
            assert f"ok\thello\tacme-gateway 0.1, claims {claim}" in printed
            for mode in modes:
                assert f'ok\topenai.chat {mode}\tget_weather({{"city":"Lisbon"}})' in printed
    assert "--update-baseline" in everything.text
    if is_thorough() and language == "python":
        do(everything, folder, environment(home), "")
        assert (folder / "parity-baseline.yaml").stat().st_size > 0


@pytest.mark.parametrize("kind", skeletons.KINDS)
@pytest.mark.parametrize("language", skeletons.LANGUAGES)
def test_no_placeholder_is_left_and_every_named_file_exists(language: str, kind: str, tmp_path: Path) -> None:
    written = skeletons.write(tmp_path / "acme", language, kind)
    assert all("{{" + word not in path.read_text("utf-8") for path in written for word in ("name", "input", "build"))
    assert any("acme" in path.read_text("utf-8") for path in written if path.name != "README.md")
    chosen = skeletons.LANGUAGES[language]
    for named in (chosen.entry, chosen.module.format(skeletons.KINDS[kind].stand_in)):
        assert (tmp_path / "acme" / named).is_file()
        assert f"`{named}`" in (tmp_path / "acme" / "README.md").read_text("utf-8")


def test_a_folder_with_content_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "own.txt").write_text("mine")
    refused = new("--language", "python", str(tmp_path))
    assert refused.exit_code == exits.USAGE
    assert "is not an empty folder" in refused.output
    assert [path.name for path in tmp_path.iterdir()] == ["own.txt"]
    assert new("--language", "python", str(tmp_path / "own.txt")).exit_code == exits.USAGE
    assert (tmp_path / "own.txt").read_text() == "mine"


def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    assert new("--language", "node", str(tmp_path)).exit_code == 0
    assert (tmp_path / "subject.mjs").is_file()


def test_a_parent_that_is_a_file_is_one_line_and_exit_code_4(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    failed = new("--language", "python", str(tmp_path / "file" / "new"))
    assert failed.exit_code == exits.FAULT
    assert "Traceback" not in failed.output


@pytest.mark.parametrize(
    ("folder", "name"),
    [("Acme Gateway", "acme-gateway"), ("9lives", "subject-9lives"), ("...", "subject"), ("日本", "subject")],
)
def test_the_name_fits_the_packages_of_every_language(folder: str, name: str, tmp_path: Path) -> None:
    assert skeletons.project_name(tmp_path / folder) == name


def test_an_unknown_language_names_the_nearest(tmp_path: Path) -> None:
    refused = new("--language", "pyton", str(tmp_path))
    assert refused.exit_code == exits.USAGE
    assert "did you mean python?" in refused.output
