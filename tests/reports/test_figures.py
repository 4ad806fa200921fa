"""Every figure of the reports, recomputed from the results file without the code that counts for the reports."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from tests.reports import golden
from tests.reports.golden import result, run, verdict
from tests.reports.made_run import made_run
from tests.support.published import published_file
from toolparity.conformance.cli.publish import FOLDER
from toolparity.reports import formats, results
from toolparity.reports.results import Report, Run

#: The effects, most severe first: a case with several counts under the first.
EFFECTS = ["executed", "lost", "duplicated", "altered", "misreported", "malformed", "refused", ""]
BROKEN = {"fail", "new", "expected"}
#: The sign of a cell without an applicable case.
NONE = "\u2013"
VERBS = {"lost": "lose", "duplicated": "duplicate", "altered": "alter"}


class Reports(NamedTuple):
    """The results file as plain JSON, and the reports that were made of it."""

    file: dict[str, Any]
    page: str
    markdown: str
    badge: dict[str, Any]


def of_run(made: Run) -> Reports:
    """The reports of a run."""
    report = Report(made)
    page, markdown = (formats.render(name, report).decode() for name in ("html", "markdown"))
    return Reports(json.loads(results.write(made)), page, markdown, json.loads(formats.render("endpoint", report)))


def mixed() -> Run:
    """Subjects of every role, two of them of one library, and cases with several effects, outcomes and laws."""
    roles: dict[str, results.Role] = {"mine": "implementation", "yours": "implementation", "ours": "reference"}
    roles["bad"] = "known-bad"
    cases = [
        result(verdict("fail", effect=first), verdict("expected", "stop", effect=second), subject=name, scenario=place)
        for name, place, first, second in (
            ("mine", "a", "misreported", "executed"),
            ("mine", "b", "refused", "misreported"),
            ("yours", "a", "altered", "duplicated"),
            ("bad", "a", "malformed", "refused"),
            ("bad", "b", "executed", "lost"),
        )
    ]
    cases += [
        result(verdict("error"), verdict("pass", "stop"), scenario="c"),
        result(verdict("unsupported"), subject="yours", scenario="d"),
        replace(result(verdict("unsupported"), subject="yours", scenario="g"), rounds=[results.SubjectReport(["f()"])]),
        result(subject="yours", scenario="e"),
        result(verdict("stale"), verdict("unsupported", "stop"), subject="ours"),
        result(verdict("expected", "usage", effect="lost"), subject="yours", scenario="f"),
    ]
    subjects = [results.SubjectInfo(name, "1", role=role) for name, role in roles.items()]
    return run(
        *cases, subjects=[replace(one, library="one") if one.name in ("mine", "yours") else one for one in subjects]
    )


@cache
def reports(name: str) -> Reports:
    """The publication as it is on disk, or the reports of a made run."""
    if name == "made":
        return of_run(made_run(3, 8))
    if name == "mixed":
        return of_run(mixed())
    if name == "golden":
        return of_run(golden.golden())
    page, markdown = ((FOLDER / file).read_text("utf-8") for file in ("index.html", "README.md"))
    return Reports(published_file(), page, markdown, json.loads((FOLDER / "badge.json").read_bytes()))


#: A test of the publication.
PAGE = pytest.mark.page("reports/published", "README.md")
PUBLISHED = pytest.param("published", marks=PAGE)
RUNS = (PUBLISHED, "made", "mixed", "golden")


@pytest.fixture(scope="module", autouse=True)
def forgotten() -> Iterator[None]:
    """Forget the runs after the tests of this module."""
    yield
    for made in (reports, counted, tables, published_file):
        made.cache_clear()


class Subject(NamedTuple):
    """What a reader of the results file counts for one subject. ``kinds``: law -> its cases by kind or effect."""

    role: str
    cases: Counter[str]
    laws: dict[str, tuple[int, int]]
    kinds: dict[str, Counter[str]]
    effects: set[str]


@cache
def counted(name: str) -> dict[str, Subject]:
    """Subject -> its cases by kind or effect, and law -> passed and applicable cases."""
    file = reports(name).file
    places = {(one["scenario"], one["surface"], one["mode"], one["policy"]) for one in file["results"]}
    found = {}
    of_subject: dict[str, list[dict[str, Any]]] = {subject["name"]: [] for subject in file["subjects"]}
    for one in file["results"]:
        of_subject[one["subject"]].append(one)
    for subject in file["subjects"]:
        own = of_subject[subject["name"]]
        cases: Counter[str] = Counter()
        laws: dict[str, tuple[int, int]] = {}
        kinds: dict[str, Counter[str]] = {law["id"]: Counter() for law in file["laws"]}
        effects = set()
        for case in own:
            broken = [one for one in case["verdicts"] if one["outcome"] in BROKEN]
            outcomes = {one["outcome"] for one in case["verdicts"]}
            effects |= {one.get("effect", "") for one in broken}
            if broken:
                kind = min((one.get("effect", "") for one in broken), key=EFFECTS.index) or "no effect stated"
                cases["expected"] += all(one["outcome"] == "expected" for one in broken)
            elif "error" in outcomes:
                kind = "undecided"
            elif outcomes & {"pass", "stale"}:
                kind = "pass"
            else:
                kind = ("not judged" if case.get("rounds") else "not asked") if outcomes else "not applicable"
            cases[kind] += 1
            cases["applicable"] += kind not in ("not judged", "not asked", "not applicable")
            for law, kind_by_law in kinds.items():
                kind_by_law[kind_under(law, case, kind)] += 1
            for one in case["verdicts"]:
                passed, applicable = laws.get(one["check"], (0, 0))
                passed += one["outcome"] in ("pass", "stale")
                laws[one["check"]] = passed, applicable + (one["outcome"] != "unsupported")
        cases["not run"] = len(places) - len(own)
        for kind_by_law in kinds.values():
            kind_by_law["not run"] = len(places) - len(own)
        found[subject["name"]] = Subject(subject.get("role", "implementation"), cases, laws, kinds, effects)
    return found


def kind_under(law: str, case: dict[str, Any], kind: str) -> str:
    """Under which word the tip of a law's cell counts a case that counts as ``kind`` under all laws together."""
    if kind == "not asked":
        return kind
    for one in case["verdicts"]:
        if one["check"] == law:
            words = {"pass": "pass", "stale": "pass", "error": "undecided", "unsupported": "not judged"}
            return words.get(one["outcome"]) or one.get("effect", "") or "no effect stated"
    return "not applicable"


def leading(name: str) -> dict[str, Subject]:
    """The subjects that the headline is about."""
    implementations = {key: one for key, one in counted(name).items() if one.role == "implementation"}
    return implementations or counted(name)


def whole_of(name: str) -> str:
    """The subjects that the headline is about, and how many libraries they are."""
    subjects = leading(name)
    listed = [one for one in reports(name).file["subjects"] if one["name"] in subjects]
    libraries = {one.get("library") or one["name"] for one in listed}
    more = (
        f" (entry points of {len(libraries)} {'library' if len(libraries) == 1 else 'libraries'})"
        if len(libraries) < len(subjects)
        else ""
    )
    return f"{len(subjects)} implementations{more}"


def headline(name: str) -> str:
    """The sentence that the figures make true."""
    subjects = leading(name)
    harmful = [one for one in subjects.values() if one.effects & {*VERBS, "executed"}]
    if not harmful:
        broken = sum(bool(one.effects) for one in subjects.values())
        return f"{broken} of {whole_of(name)} {'breaks' if broken == 1 else 'break'} a law"
    occurring = set().union(*(one.effects for one in harmful))
    s = "s" if len(harmful) == 1 else ""
    verbs = [verb + s for effect, verb in VERBS.items() if effect in occurring]
    listed = f"{', '.join(verbs[:-1])} or {verbs[-1]}" if len(verbs) > 1 else "".join(verbs)
    acts = [f"{listed} calls or content"] if verbs else []
    acts += [f"let{s} calls run that must not run"] if "executed" in occurring else []
    comma = "," if len(acts) > 1 else ""
    return f"{len(harmful)} of {whole_of(name)} {', or '.join(acts)}{comma} on at least one wire"


def passing(name: str) -> str:
    """The share of cases that pass."""
    cases = [one.cases for one in leading(name).values()]
    return f"{sum(one['pass'] for one in cases):,} of {sum(one['applicable'] for one in cases):,} cases pass"


class Tables(HTMLParser):
    """The tables of a page by class: rows of cell texts without the labels for small screens; and its first heading."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: list[tuple[str, list[list[str]]]] = []
        self.heading = ""
        self.tips: list[str] = []
        self._hidden = 0
        self._inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "span" and (self._hidden or attributes.get("class") in ("which", "unseen", "version")):
            self._hidden += 1
        if "heat-cell" in (attributes.get("class") or ""):
            self.tips.append(attributes.get("title") or "")
        if tag == "table":
            self.tables.append(((attributes.get("class") or "").partition(" ")[0], []))
        elif tag == "tr":
            self.tables[-1][1].append([])
        elif tag in ("th", "td"):
            self.tables[-1][1][-1].append("")
        if tag in ("th", "td", "h1"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "span" and self._hidden:
            self._hidden -= 1
        if self._inside and tag == self._inside[-1]:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if self._hidden or not self._inside:
            return
        if self._inside[-1] == "h1":
            self.heading += data.strip()
        else:
            self.tables[-1][1][-1][-1] += data.strip()

    def of(self, kind: str) -> list[list[list[str]]]:
        return [rows for name, rows in self.tables if name == kind]


@cache
def tables(name: str) -> Tables:
    """The tables of the page without the histories of libraries, which `test_published_versions` reads."""
    return Tables(re.sub(r'<section id="versions".*?</section>', "", reports(name).page, flags=re.DOTALL))


def subject_of(name: str, shown: str) -> Subject:
    """The subject with this displayed name. The golden run has names that the page shows with escapes."""
    names = counted(name)
    return names[shown] if shown in names else next(one for key, one in names.items() if key[:20] == shown[:20])


@pytest.mark.parametrize("name", RUNS)
def test_each_cell_of_the_heat_maps(name: str) -> None:
    cells = 0
    for head, *rows in tables(name).of("heat"):
        for subject, whole, *others in rows:
            one = subject_of(name, subject)
            assert whole.rstrip("!") == f"{one.cases['pass']:,}/{one.cases['applicable']:,}", subject
            for law, cell in zip(head[2:], others, strict=False):
                passed, applicable = one.laws.get(law, (0, 0))
                assert cell.rstrip("!") == (f"{passed:,}/{applicable:,}" if applicable else NONE), (subject, law)
                cells += bool(applicable)
    assert cells == sum(bool(applicable) for one in counted(name).values() for _, applicable in one.laws.values())
    assert sum(len(rows) - 1 for rows in tables(name).of("heat")) == len(counted(name))


@pytest.mark.parametrize("name", [PUBLISHED, "made", "mixed"])
def test_each_figure_in_the_descriptions_of_the_cells(name: str) -> None:
    described = 0
    for tip in tables(name).tips:
        found = re.fullmatch(r"(.+?), (.+?): ([\d,]+)/([\d,]+) applicable cases pass(.*)", tip)
        assert found, tip
        one = counted(name)[found[1]]
        if found[2] == "all laws":
            kinds = one.cases
        else:
            kinds = one.kinds[found[2]]
            assert found.group(3, 4) == tuple(f"{number:,}" for number in one.laws[found[2]])
        parts = dict(reversed(part.split(" ", 1)) for part in found[5].split(", ")[1:])
        parts.pop("of the failures listed in a baseline", None)
        expected = {kind: f"{number:,}" for kind, number in kinds.items() if number}
        assert parts == {kind: expected[kind] for kind in expected if kind not in ("applicable", "pass", "expected")}, (
            tip
        )
        described += 1
    assert described >= len(counted(name))


@pytest.mark.parametrize("name", RUNS)
def test_the_numbers_of_verdicts_by_outcome_and_of_cases(name: str) -> None:
    file = reports(name).file
    numbers = Counter(one["outcome"] for case in file["results"] for one in case["verdicts"])
    shown = re.findall(r'href="#verdict=(\w+)">([\d,]+) verdicts?</a>', reports(name).page)
    assert {outcome: number for outcome, number in shown if number != "0"} == {
        outcome: f"{number:,}" for outcome, number in numbers.items()
    }
    cases, verdicts = len(file["results"]), numbers.total()
    assert f"{cases:,} case{'s' * (cases != 1)}, {verdicts:,} verdict{'s' * (verdicts != 1)}" in reports(name).page


@PAGE
def test_each_figure_of_the_kill_matrix_and_of_the_sources() -> None:
    file = reports("published").file
    ((head, *rows),) = tables("published").of("kills")
    assert len(rows) == len(file["kills"])
    for row, kill in zip(rows, file["kills"], strict=True):
        shown = {law: int(cell.replace(",", "")) for law, cell in zip(head[1:], row[1:], strict=True) if cell != "·"}
        assert {law: number for law, number in shown.items() if number} == {k: n for k, n in kill["by"].items() if n}
        assert shown[kill["law"]], kill["name"]
    origins = Counter(source["origin"] for source in file["sources"])
    shown_origins = re.findall(r"<h3><bdi>([^<]+)</bdi> <b>([\d,]+)</b></h3>", reports("published").page)
    assert dict(shown_origins) == {origin: f"{number:,}" for origin, number in origins.items()}


@pytest.mark.parametrize("name", RUNS)
def test_each_figure_of_the_cases_by_effect(name: str) -> None:
    results = reports(name).file["results"]
    places = {(one["scenario"], one["surface"], one["mode"], one["policy"]) for one in results}
    names = {id(one): key for key, one in counted(name).items()}
    pairs = {
        (one["subject"], found["check"]) for one in results for found in one["verdicts"] if found["outcome"] in BROKEN
    }
    broken_laws = Counter(subject for subject, _ in pairs)
    for _, head, *rows in tables(name).of("cases"):
        for subject, broken, *figures in rows:
            one = subject_of(name, subject)
            shown = dict(zip(head[2:], figures, strict=True))
            assert shown == {title: f"{one.cases[title]:,}" for title in shown}
            assert {title for title, number in one.cases.items() if number} - {"expected"} <= {*shown}
            parts = sum(int(number.replace(",", "")) for title, number in shown.items() if title != "applicable")
            assert parts == len(places), "each case of the run counts once"
            assert broken == f"{broken_laws[names[id(one)]]:,}"


@pytest.mark.parametrize("name", RUNS)
def test_the_headlines_of_page_markdown_and_badge_are_one(name: str) -> None:
    assert tables(name).heading == headline(name)
    assert f"**{headline(name)}.**" in reports(name).markdown
    assert passing(name) in reports(name).page
    numbers = len(leading(name))
    implementations = f"{numbers} implementations" if numbers > 1 else next(iter(leading(name)))
    assert f" Tool calls of {implementations}: {passing(name)}" in reports(name).markdown
    if name != "published":
        assert reports(name).badge["message"].startswith(passing(name))
        assert reports(name).badge["label"] == f"tool calls: {implementations}"
    expected = sum(one.cases["expected"] for one in leading(name).values())
    failing = sum(one.cases[effect] for one in leading(name).values() for effect in [*EFFECTS, "no effect stated"])
    known = "all" if expected == failing else f"{expected:,}"
    phrase = (
        f"; {known} of the {failing:,} failing case{'s' * (failing != 1)} {'is' if expected == 1 else 'are'}"
        " listed in a baseline of expected failures."
    )
    assert (phrase in reports(name).page) is bool(expected)
    by_law: Counter[str] = Counter()
    for one in leading(name).values():
        by_law.update({law: applicable - passed for law, (passed, applicable) in one.laws.items()})
    ((law, number),) = by_law.most_common(1)
    if number >= 20 and name == "published":
        assert f"One behaviour can fail many cases: {number:,} failing cases break {law}." in reports(name).page


@pytest.mark.parametrize("name", [PUBLISHED, "made", "mixed"])
def test_the_tables_of_markdown_have_the_figures_of_the_page(name: str) -> None:
    rows = [
        [cell.strip(" `*") for cell in line.strip("|").split("|")]
        for line in reports(name).markdown.splitlines()
        if line.startswith("|")
    ]
    ratios = {}
    subjects: list[str] = []
    for row in rows:
        if row[0] == "law":
            subjects = row[1:]
        elif row[0] == "all laws" or row[0] in {law["id"] for law in reports(name).file["laws"]}:
            for subject, cell in zip(subjects, row[1:], strict=True):
                if found := re.search(r"[\d,]+/[\d,]+", cell):
                    ratios[subject, row[0]] = found[0]
    expected = {}
    for subject, one in counted(name).items():
        expected[subject, "all laws"] = f"{one.cases['pass']:,}/{one.cases['applicable']:,}"
        for law, (passed, applicable) in one.laws.items():
            if applicable:
                expected[subject, law] = f"{passed:,}/{applicable:,}"
    assert ratios == expected


@PAGE
def test_the_badge_and_the_readme_have_the_figures_of_the_publication() -> None:
    own = counted("published")["normalizer"].cases
    assert reports("published").badge["message"] == f"{own['pass']:,} of {own['applicable']:,} cases pass"
    assert reports("published").badge["label"] == "tool calls: normalizer (reference)"
    own_result = f"tool calls: normalizer (reference): {reports('published').badge['message']}"
    assert f"<title>{own_result}</title>" in (FOLDER / "badge.svg").read_text("utf-8")
    readme = " ".join((Path(__file__).parents[2] / "README.md").read_text("utf-8").split())
    assert "](reports/published/badge.svg)](reports/published/README.md)" in readme
    assert (
        f"In the [current results](reports/published/README.md), {headline('published')}; {passing('published')}."
        in readme
    )
