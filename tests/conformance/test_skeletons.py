"""`toolparity subject new`: every skeleton works as it is, in a clean folder, by the commands of its README."""

from __future__ import annotations

import os
import re
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
    readme = (tmp_path / "acme" / "README.md").read_text("utf-8")
    files = {str(path.relative_to(tmp_path / "acme")) for path in written}
    named = {name for name in re.findall(r"`([\w./]+)`", readme) if Path(name).suffix in (".py", ".mjs", ".go", ".rs")}
    assert skeletons.LANGUAGES[language].entry in named <= files


def test_only_an_empty_folder_is_used(tmp_path: Path) -> None:
    assert new("--language", "node", str(tmp_path)).exit_code == 0
    assert (tmp_path / "subject.mjs").is_file()
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    refused = new("--language", "python", str(tmp_path))
    assert (refused.exit_code, "is not an empty folder" in refused.output) == (exits.USAGE, True)
    assert new("--language", "python", str(tmp_path / "subject.mjs")).exit_code == exits.USAGE
    failed = new("--language", "python", str(tmp_path / "subject.mjs" / "new"))
    assert (failed.exit_code, "Traceback" in failed.output) == (exits.FAULT, False)
    unknown = new("--language", "pyton", str(tmp_path / "new"))
    assert (unknown.exit_code, "did you mean python?" in unknown.output) == (exits.USAGE, True)
    assert before == {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}


def test_the_name_fits_the_packages_of_every_language(tmp_path: Path) -> None:
    names = {"Acme Gateway": "acme-gateway", "9lives": "subject-9lives", "...": "subject", "日本": "subject"}
    assert {folder: skeletons.project_name(tmp_path / folder) for folder in names} == names
