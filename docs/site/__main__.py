"""Build the documentation site: ``python -m docs.site [--into FOLDER]``. It is in ``FOLDER/site``.

The pages are copied to ``FOLDER/pages``, because they link to files outside: links to the published report lead to its
copy in the site, links to other files of the repository to its address. A link without a target is an error, and so is
a page that is not in the navigation (`zensical.toml`).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from string import Template

from docs.generate import PAGES, ROOT
from docs.site import reference
from docs.site.diagrams import drawn

SOURCE = Path(__file__).parent
REPORT = ROOT / "reports" / "published"
#: Pages that are not in docs/pages -> their names in the site.
OTHERS = {ROOT / "CONTRIBUTING.md": "contributing.md", ROOT / "CHANGELOG.md": "changelog.md"}
_CODE = re.compile(r"(^```.*?^```|``[^`\n]+``|`[^`\n]*`)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s]+)(?=\))")


class BrokenSite(Exception):
    """A page or a link that the site cannot have."""


def place(file: Path, repository: str) -> str:
    """Return the place in the site of a file of the repository: its copy, else its address."""
    if file in OTHERS:
        return OTHERS[file]
    if file.is_relative_to(PAGES):
        return file.relative_to(PAGES).as_posix()
    if file.is_relative_to(REPORT):
        return ("report" / file.relative_to(REPORT)).as_posix() if file.name != "README.md" else "report/index.html"
    kind = "tree" if file.is_dir() else "blob"
    return f"{repository}/{kind}/main/{file.relative_to(ROOT).as_posix()}"


def staged(page: Path, repository: str) -> str:
    """Return a page as the site has it. Raises BrokenSite for a link without a target."""

    def moved(link: re.Match[str]) -> str:
        path, mark, anchor = link[0].partition("#")
        file = (page.parent / path).resolve()
        if not file.exists() or not file.is_relative_to(ROOT):
            raise BrokenSite(f"{page.relative_to(ROOT)}: the link {link[0]} has no target")
        return place(file, repository) + mark + anchor

    parts = _CODE.split(drawn(page.read_text("utf-8")))
    parts[::2] = (_LINK.sub(moved, part) for part in parts[::2])
    return "".join(parts)


def stage(build: Path) -> None:
    """Write everything that Zensical reads to the build folder, which is emptied first."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
    if build.exists() and any(build.iterdir()) and not (build / "zensical.toml").exists():
        raise BrokenSite(f"{build} has other files: choose an empty folder")
    shutil.rmtree(build, ignore_errors=True)
    pages = build / "pages"
    shutil.copytree(SOURCE / "theme", build / "theme")
    shutil.copytree(REPORT, pages / "report", ignore=shutil.ignore_patterns("*.md"))
    for file in sorted(PAGES.iterdir()):
        if file.suffix != ".md":
            shutil.copy(file, pages)
    texts = {place(file, ""): staged(file, urls["Repository"]) for file in (*PAGES.glob("*.md"), *OTHERS)}
    texts |= reference.files()
    for name, text in texts.items():
        (pages / name).parent.mkdir(exist_ok=True)
        (pages / name).write_text(text, "utf-8")
    api = ", ".join(f'{{ "{page.title}" = "api/{page.file}" }}' for page in reference.pages())
    values = {"repository": urls["Repository"], "site": urls["Documentation"], "root": str(ROOT), "api": f"[{api}]"}
    config = Template((SOURCE / "zensical.toml").read_text("utf-8")).substitute(values)
    listed = {*re.findall(r'"([\w/-]+\.md)"', config)}
    if listed != {*texts}:
        raise BrokenSite(f"pages in the navigation or in the site only: {', '.join(sorted(listed ^ {*texts}))}")
    (build / "zensical.toml").write_text(config, "utf-8")


def main() -> int:
    """Build the site."""
    parser = argparse.ArgumentParser(prog="python -m docs.site", description="Build the documentation site.")
    parser.add_argument("--into", type=Path, default=ROOT / "build" / "docs", help="emptied first; default: build/docs")
    build = parser.parse_args().into.resolve()
    try:
        stage(build)
    except BrokenSite as error:
        print(error, file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", str(build / "zensical.toml")]
    return subprocess.run(command, check=False, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}).returncode


if __name__ == "__main__":
    sys.exit(main())
