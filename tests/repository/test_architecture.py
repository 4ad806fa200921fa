"""The architecture page names files that exist, modules import each other without circles, and figures count them."""

from __future__ import annotations

import re
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

from benchmarks import source_metrics

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "pages" / "architecture.md").read_text("utf-8")
_SPANS = re.compile(r"`([^`\n]+)`")
#: A file with a suffix or a folder with a final slash. ``<name>`` is a placeholder for any name.
_PATH = re.compile(r"(?:[\w.<>-]+/)+(?:[\w.<>-]+\.[a-z]+)?|[\w-]+\.(?:toml|md)")
PATHS = sorted({word for span in _SPANS.findall(PAGE) for word in span.split() if _PATH.fullmatch(word)})


def test_the_page_names_files_of_every_package() -> None:
    assert len(PATHS) > 100
    assert {"normalizer", "turns", "cassettes", "audit", "conformance", "reports"} <= {
        path.partition("/")[0] for path in PATHS
    }


def test_the_files_that_the_page_names_exist() -> None:
    missing = []
    for path in PATHS:
        found = list(ROOT.glob(re.sub(r"<\w+>", "*", path)))
        missing += [] if found and (not path.endswith("/") or found[0].is_dir()) else [path]
    assert missing == []


def test_no_module_imports_itself_through_others() -> None:
    graph = grimp.build_graph("toolparity", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 900
    TopologicalSorter(imports).prepare()  # raises CycleError, with the circle


def test_a_small_tree_is_counted(tmp_path: Path) -> None:
    branches = "".join(f"    if wire == {number}:\n        pass\n" for number in range(30))
    text = f"class Row:\n    told = 1\n\n\ndef long(wire):\n{branches}    return wire in ('xai.grpc', 'openai.chat')\n"
    for package in ("normalizer", "reports"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("")
    (tmp_path / "normalizer" / "a.py").write_text(text)
    (tmp_path / "reports" / "b.py").write_text("class Row:\n    '''What nobody wants.'''\n")
    assert {name: count for name, count in source_metrics.figures(tmp_path).items() if count} == {
        "lines of normalizer": 66,
        "lines of reports": 2,
        "lines": 68,
        "modules (without __init__.py)": 2,
        "modules under 60 lines": 1,
        "public class names used more than once": 1,
        "comparisons with a wire's name": 1,
        "avoided words in the product": 2,
        "functions over 60 lines": 1,
        "functions of complexity over 15": 1,
    }
