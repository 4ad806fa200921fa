"""Figures about the product's source, for two revisions side by side.

python -m benchmarks.source_metrics BEFORE [AFTER]    # git revisions; AFTER is HEAD by default
"""

from __future__ import annotations

import ast
import io
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tabulate import tabulate

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("normalizer", "turns", "cassettes", "audit", "conformance", "reports", "toolparity")
WIRES = frozenset(
    [
        *("openai.chat", "openai.responses", "anthropic.messages", "xai.grpc", "google.gemini", "google.interactions"),
        *("bedrock.converse", "ollama.chat", "cohere.chat"),
    ]
)
SHORT_MODULE = 60
LONG_FUNCTION = 60
COMPLEXITY = 15
#: Words of `.ci/prose-words.txt`, in code as well as in prose.
AVOIDED = re.compile(
    r"(?<![a-z])(?:"
    + "|".join(
        line.partition("->")[0] for line in (ROOT / ".ci" / "prose-words.txt").read_text("utf-8").splitlines() if line
    )
    + r")(?![a-z])",
    re.IGNORECASE,
)

Figures = dict[str, int]


def unpacked(revision: str, folder: Path) -> Path:
    """The files of a revision in a folder, without its symbolic links."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, [member for member in tar.getmembers() if not member.issym()], filter="data")
    return folder


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def wire_comparisons(tree: ast.AST) -> int:
    """Comparisons with a literal name of a wire, also in a tuple, list or set."""
    return sum(
        any(isinstance(part, ast.Constant) and part.value in WIRES for side in sides for part in ast.walk(side))
        for sides in ([node.left, *node.comparators] for node in ast.walk(tree) if isinstance(node, ast.Compare))
    )


def too_complex(folder: Path) -> int:
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--select",
        "C901",
        "--output-format",
        "json",
        "--exit-zero",
    ]
    limit = ["--config", f"lint.mccabe.max-complexity={COMPLEXITY}"]
    paths = [package for package in PACKAGES if (folder / package).is_dir()]
    done = subprocess.run([*command, *limit, *paths], cwd=folder, capture_output=True, text=True, check=True)
    return len(json.loads(done.stdout))


def figures(folder: Path) -> Figures:
    sources = {
        path: path.read_text("utf-8")
        for package in PACKAGES
        for path in sorted((folder / package).rglob("*.py"))
        if (folder / package).is_dir()
    }
    trees = {path: ast.parse(text) for path, text in sources.items()}
    lines = Counter[str]()
    for path, text in sources.items():
        lines[path.relative_to(folder).parts[0]] += text.count("\n")
    modules = [text for path, text in sources.items() if path.name != "__init__.py"]
    classes = Counter(
        node.name
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    prose = [path.read_text("utf-8") for path in (*folder.glob("*.md"), *(folder / "docs").rglob("*.md"))]
    return {
        **{f"lines of {package}": lines[package] for package in PACKAGES},
        "lines": lines.total(),
        "modules (without __init__.py)": len(modules),
        f"modules under {SHORT_MODULE} lines": sum(text.count("\n") < SHORT_MODULE for text in modules),
        "public class names used more than once": sum(count > 1 for count in classes.values()),
        "comparisons with a wire's name": sum(map(wire_comparisons, trees.values())),
        "avoided words in the product": sum(len(AVOIDED.findall(text)) for text in sources.values()),
        "avoided words in docs": sum(len(AVOIDED.findall(text)) for text in prose),
        f"functions over {LONG_FUNCTION} lines": sum(
            (function.end_lineno or 0) - function.lineno >= LONG_FUNCTION
            for tree in trees.values()
            for function in functions(tree)
        ),
        f"functions of complexity over {COMPLEXITY}": too_complex(folder),
    }


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m benchmarks.source_metrics BEFORE [AFTER]")
    revisions = [*sys.argv[1:], "HEAD"][:2]
    columns = []
    for revision in revisions:
        with tempfile.TemporaryDirectory() as name:
            columns.append(figures(unpacked(revision, Path(name))))
    rows = [[figure, *(column[figure] for column in columns)] for figure in columns[0]]
    print(tabulate(rows, headers=["", *revisions], tablefmt="github", intfmt=","))


if __name__ == "__main__":
    main()
