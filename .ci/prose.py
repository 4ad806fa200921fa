"""Check the prose of docs, docstrings, comments, messages and help texts for typing errors and words to avoid.

    python .ci/prose.py [--count] [PATH…]       # whole repository, or only files below PATH; --count: figures only

`codespell` looks for single words: its own dictionary of typing errors, and prose-words.txt. prose-phrases.toml has
the phrases, and the exceptions with their reasons. Code is not prose: names in backquotes, code blocks, and strings of
one word are left out. The names in tests are prose, their files' names included: `test_a_call_runs_once` is a sentence.
Exit code 1 if anything was found.
"""

from __future__ import annotations

import argparse
import fnmatch
import io
import keyword
import re
import subprocess
import sys
import tempfile
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SUFFIXES = ("", ".py", ".md", ".toml", ".yaml", ".yml", ".html", ".j2", ".js", ".mjs", ".css")
#: Of the tests, docstrings, comments and names are read: their strings are what models, providers and users say.
TESTS = ("tests/",)
#: Written by programs from strings that are checked where they are; or quoted from elsewhere.
GENERATED = ("reports/published/", "LICENSE", ".git")
STRING = re.compile(r"(?P<prefix>\w*)(?P<quote>\"\"\"|'''|\"|')(?P<text>.*)(?P=quote)", re.DOTALL)
#: A title of a scenario, a reason in a baseline: other strings of these files are what models say.
MEMBER = re.compile(r"""^\s*(?:- \{.*)?(?:title|reason|why|comment)\s*[:=]""")


class Line(NamedTuple):
    number: int
    text: str


class Problem(NamedTuple):
    path: str
    number: int
    found: str
    use: str


def of_python(text: str, tests: bool) -> Iterator[Line]:
    """The comments and docstrings; of tests, all names; of other files, all strings of several words."""
    docstring = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield Line(token.start[0], token.string)
        elif tests and token.type == tokenize.NAME and not keyword.iskeyword(token.string):
            yield Line(token.start[0], f"{re.sub(r'_+|(?<=[a-z])(?=[A-Z])', ' ', token.string)} |")
        elif token.type == tokenize.STRING:
            parts = STRING.fullmatch(token.string)
            assert parts is not None
            words = parts["text"]
            if "f" in parts["prefix"].lower():
                words = re.sub(r"\{[^{}]*\}", " x ", words)
            if "b" not in parts["prefix"].lower() and (docstring or (not tests and re.search(r"\w\W* \W*\w", words))):
                for offset, line in enumerate(words.split("\n")):
                    yield Line(token.start[0] + offset, line)
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            docstring = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.ENCODING, tokenize.DEDENT)


def of_markdown(text: str) -> Iterator[Line]:
    fenced = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            yield Line(number, re.sub(r"\]\([^)]*\)", "]", line))


def of_file(path: Path, name: str) -> Iterator[Line]:
    if path.suffix not in SUFFIXES or (path.suffix in (".yaml", ".yml") and name.startswith("cassettes/")):
        return
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        tests = name.startswith(TESTS)
        if tests:
            yield Line(1, path.stem.replace("_", " "))
        yield from of_python(text, tests)
    elif path.suffix == ".md":
        yield from of_markdown(text)
    elif path.suffix in (".toml", ".yaml", ".yml"):
        for number, line in enumerate(text.split("\n"), 1):
            if MEMBER.match(line) or (comment := line.lstrip()).startswith("#"):
                yield Line(number, line if MEMBER.match(line) else comment)
    elif path.suffix in (".html", ".j2"):
        for number, line in enumerate(text.split("\n"), 1):
            yield Line(number, re.sub(r"<[^>]*>|\{[{%].*?[}%]\}", " ", line))
    elif path.suffix in (".js", ".css", ".mjs"):
        for number, line in enumerate(text.split("\n"), 1):
            if comment := re.search(r"//.*|/\*.*|^\s*\*.*", line):
                yield Line(number, comment[0])
    else:
        for number, line in enumerate(text.split("\n"), 1):
            if comment := re.search(r"#.*|say \".*", line):
                yield Line(number, comment[0])


def without_code(line: str) -> str:
    return re.sub(r"``[^`]*``|`[^`]*`|https?://\S+|:\w+:`[^`]*`", " x ", line)


def files(paths: list[str]) -> Iterator[str]:
    listed = subprocess.run(["git", "ls-files", "-z", *paths], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.split("\0"):
        if name and not name.startswith(GENERATED) and (ROOT / name).is_file() and not (ROOT / name).is_symlink():
            yield name


def words(folder: Path) -> Iterator[Problem]:
    """What codespell finds in a folder of extracted prose."""
    command = [
        sys.executable,
        "-m",
        "codespell_lib",
        "--builtin",
        "clear",
        "-D",
        "-",
        "-D",
        str(HERE / "prose-words.txt"),
        "--quiet-level",
        "7",
    ]
    done = subprocess.run([*command, "."], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 65) or (not done.stdout and done.returncode):
        sys.exit(f"codespell failed: {done.stderr or done.stdout}")
    for line in done.stdout.splitlines():
        if parts := re.fullmatch(r"\./(.*?):(\d+): (.*?) ==> (.*)", line):
            yield Problem(parts[1], int(parts[2]), parts[3], parts[4])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", action="store_true", help="figures only")
    parser.add_argument("paths", nargs="*", metavar="PATH")
    arguments = parser.parse_args()
    table = tomllib.loads((HERE / "prose-phrases.toml").read_text("utf-8"))
    phrases = [
        (re.compile(entry["pattern"], re.IGNORECASE), entry["use"], entry.get("path", "*")) for entry in table["phrase"]
    ]
    problems: list[Problem] = []
    prose: dict[tuple[str, int], str] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for path in files(arguments.paths):
            lines = [Line(line.number, without_code(line.text)) for line in of_file(ROOT / path, path)]
            if not lines:
                continue
            for number, text in lines:
                prose[path, number] = prose.get((path, number), "") + " " + text
            numbered = [prose.get((path, number), "") for number in range(1, max(line.number for line in lines) + 1)]
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text("\n".join(numbered) + "\n", "utf-8")
            for number, text in enumerate(numbered, 1):
                for pattern, use, where in phrases:
                    if not fnmatch.fnmatch(path, where):
                        continue
                    problems += (Problem(path, number, found[0].strip(), use) for found in pattern.finditer(text))
        problems += words(folder)
    problems = [problem for problem in problems if not excepted(problem, prose, table["exception"])]
    if not arguments.count:
        for problem in sorted(problems):
            print(f"{problem.path}:{problem.number}: {problem.found!r}: use {problem.use}")
    counts = Counter("/".join(problem.path.split("/")[:2]) for problem in problems)
    for place, count in counts.most_common():
        print(f"{count:6}  {place}", file=sys.stdout if arguments.count else sys.stderr)
    print(f"prose: {len(problems)} problems in {len(prose)} lines of prose", file=sys.stderr)
    return bool(problems)


def excepted(problem: Problem, prose: dict[tuple[str, int], str], exceptions: list[dict[str, str]]) -> bool:
    line = prose.get((problem.path, problem.number), "")
    return any(
        fnmatch.fnmatch(problem.path, entry["path"])
        and re.fullmatch(entry["found"], problem.found, re.IGNORECASE)
        and re.search(entry.get("line", ""), line)
        for entry in exceptions
    )


if __name__ == "__main__":
    sys.exit(main())
