"""`toolparity audit`: what each policy would do to traffic; and `toolparity normalize`: one JSON line an exchange."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.audit.bulk.corpus import EXAMPLES, interrupted
from tests.audit.conversations.test_audit import conversation
from tests.normalizer.recorded.rows import MISFILED, files
from tests.support.events import anthropic_stream, block_start, block_stop, tool_start
from tests.support.traffic import chat_body, chat_stream, row, write_rows
from tests.support.wires import BYTE_WIRES, WIRES
from toolparity.audit.bulk import parallel
from toolparity.audit.summary import Audit
from toolparity.cassettes.sources import Exchange, decoding
from toolparity.cli import main
from toolparity.normalizer import json_codec
from toolparity.normalizer.findings import CODES
from toolparity.reports.terminal import Lines, StyledText, Table, render

GOOGLE = row("{}", wire="google", provider="google")


def run(command: str, *args: str | Path, input: bytes | None = None, columns: int | None = None) -> Result:
    env = {"COLUMNS": None if columns is None else str(columns)}
    return CliRunner().invoke(main, [command, *map(str, args)], input=input, env=env)


def data(*args: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("audit", *args, "--json").stdout)
    return found


def lines(*args: str | Path, input: bytes | None = None) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run("normalize", *args, input=input).stdout.splitlines()]


def mixed(path: Path, times: int = 1) -> Path:
    """Parallel calls, a cut stream, calls that cannot run, unknown traffic, and places without traffic."""
    rows: list[Any] = [
        row(chat_body("f", "g", "h")),
        row(chat_stream("f", "g"), stream=True),
        row(chat_stream("f", end=False), stream=True, id="cut"),
        row(chat_body("f", arguments="[1]")),
        row(chat_body("f", arguments='{"a', finish="length")),
        row("<html>", id="page"),
        row(chat_body()),
        GOOGLE,
        "{broken",
    ]
    return write_rows(path, *rows * times)


def test_each_policy_is_weighed_against_the_same_calls(tmp_path: Path) -> None:
    path = mixed(tmp_path / "r.jsonl")
    figures = data(path)["wires"]["openai.chat"]
    expected = {"exchanges": 7, "streamed": 2, "undecoded": 1, "calls": 8, "parallel": 2, "most_calls": 3}
    expected |= {"truncated": 1, "invalid": 1, "unfinished": 1, "incomplete": 1}
    assert {name: figures[name] for name in expected} == expected
    all_kept = {"kept": 5, "dropped": 0, "rejected": 3, "responses": 0}
    first = {"kept": 2, "dropped": 3, "rejected": 3, "responses": 2}
    assert figures["policies"] == {"first": first, "all": all_kept, "batch": all_kept}
    limited = data(path, "--limit", "2")["wires"]["openai.chat"]["policies"]
    kept = {name: (p["kept"], p["dropped"]) for name, p in limited.items()}
    assert kept == {"first": (2, 3), "all": (4, 1), "batch": (4, 1)}
    searched = data(EXAMPLES / "anthropic.messages.search.yaml")["wires"]["anthropic.messages"]
    assert (searched["calls"], searched["server_calls"]) == (2, 2), "calls of the server are counted apart"


def test_findings_have_their_meaning_and_the_worst_places_come_first(tmp_path: Path) -> None:
    path = mixed(tmp_path / "r.jsonl")
    found = data(path)
    counts = found["wires"]["openai.chat"]["findings"]
    assert (counts["stream-incomplete"], counts["rejected-call"], "dropped-call" in counts) == (1, 3, False)
    assert set(counts) == set(found["codes"])
    assert found["codes"]["stream-incomplete"]["means"] == CODES["stream-incomplete"].means
    worst = found["worst"]
    assert [p["score"] for p in worst] == sorted((p["score"] for p in worst), reverse=True)
    assert {p["place"] for p in worst} == {f"{path}:{n}" for n in (3, 4, 5, 6)}
    cut = next(p for p in worst if p["id"] == "cut")
    assert "stream-incomplete" in cut["codes"]
    assert cut["codes"][-1] == "rejected-call", "the most severe come last"


def test_calls_in_the_text_are_reported_with_their_dialect(tmp_path: Path) -> None:
    leaked, code = (chat_body().replace("hello", text) for text in ("On it. <tool_call>", "Write `<tool_call>` first."))
    found = data(write_rows(tmp_path / "r.jsonl", row(leaked, id="leak"), row(code, id="code"), row(chat_body())))
    assert found["wires"]["openai.chat"]["findings"] == {"leaked-markup": 1}
    (example,) = found["examples"]["leaked-markup"]
    assert (example["id"], example["message"]) == ("leak", "hermes: '<tool_call>'")


def test_an_unreadable_exchange_is_one_line_with_its_place_and_the_rest_continues(tmp_path: Path) -> None:
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)))
    path = mixed(tmp_path / "r.jsonl")
    audited, normalized = (run(c, tmp_path / "noise.bin", tmp_path / "missing", path) for c in ("audit", "normalize"))
    assert (audited.stderr, audited.exit_code) == (normalized.stderr, 4) == (audited.stderr, normalized.exit_code)
    noise, missing, broken = audited.stderr.splitlines()
    assert noise.startswith(f"{tmp_path / 'noise.bin'}: no traffic")
    assert missing == f"{tmp_path / 'missing'}: the file does not exist"
    assert broken.startswith(f"{path}:9: invalid JSON")
    assert "7 exchanges on 1 wire, 1 of wires not yet known, 3 places that could not be read" in audited.stdout
    assert re.search(r"^google +1 exchange$", audited.stdout, re.MULTILINE)
    findings = [
        line["findings"][0]["code"] for line in map(json.loads, normalized.stdout.splitlines()[5:]) if line["findings"]
    ]
    assert findings == ["malformed-body", "unknown-wire"]


def test_few_parts_are_under_way_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The input is read as parts are done, not ahead of them: memory does not grow with it."""
    monkeypatch.setattr(parallel, "PART_BYTES", 300)
    numbers = {"read": 0, "done": 0, "ahead": 0}
    real = parallel.split_files

    def counted(*args: Any, **options: Any) -> Any:
        for piece in real(*args, **options):
            numbers["read"] += 1
            numbers["ahead"] = max(numbers["ahead"], numbers["read"] - numbers["done"])
            yield piece

    monkeypatch.setattr(parallel, "split_files", counted)
    path = str(mixed(tmp_path / "r.jsonl", 30))
    parallel.audit_paths([path], jobs=2, on_progress=lambda _: numbers.update(done=numbers["done"] + 1))
    assert numbers["done"] == numbers["read"] > 50
    assert numbers["ahead"] <= 2 * 4 + 2


def test_an_audit_does_not_grow_with_what_it_counts() -> None:
    audit, sizes, body = Audit(), list[int](), chat_body("f", arguments="[1]").encode()
    for n in range(2000):
        wire = "openai.chat" if n % 2 else f"wire-{n}"
        audit.count(Exchange(source=f"r#{n}", line=n, wire=wire, stream=False, body=body), policy="all", limit=None)
        sizes.append(len(json_codec.encode(audit)))
    assert sizes[-1] < sizes[500] * 1.1
    assert sum(audit.unknown.values()) == 1000
    assert [place.source for place in audit.worst] == [f"r#{n}" for n in range(1, 21, 2)], "the first of equals"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        *(("", 0), ("rejected-call", 1), ("warning", 1), ("dropped-call", 0), ("dropped-call --policy first", 1)),
        *(("dropped-call --limit 1", 1), ("dropped-call --fail-on error", 1)),
    ],
)
def test_fail_on_fails_for_findings_of_a_code_or_severity(options: str, code: int) -> None:
    result = run("audit", EXAMPLES, *(["--fail-on", *options.split()] if options else []))
    assert (result.exit_code, "--fail-on" in result.stderr) == (code, code == 1)


def test_fail_on_counts_findings_by_their_own_severity(tmp_path: Path) -> None:
    """A repeated end is an error for a call, and a warning for a text."""
    for call in (False, True):
        block = tool_start(0, "a", "f") if call else block_start(0, type="text", text="")
        body = anthropic_stream(block, block_stop(0), block_stop(0), stop="tool_use" if call else "end_turn").decode()
        path = write_rows(tmp_path / "r.jsonl", row(body, wire="anthropic.messages", provider="anthropic", stream=True))
        assert run("audit", path, "--fail-on", "error").exit_code == int(call)
        assert run("audit", path, "--fail-on", "warning").exit_code == 1


def test_exit_codes_of_undecodable_unknown_and_faulty_traffic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_rows(tmp_path / "r.jsonl", row("<html>"), GOOGLE)
    for options, code in (((), 4), (("--fail-on", "malformed-body"), 1), (("--fail-on", "unknown-wire"), 1)):
        assert run("audit", path, *options).exit_code == code
    good = write_rows(tmp_path / "good.jsonl", GOOGLE, row(chat_body()))
    assert [run(command, good).exit_code for command in ("audit", "normalize")] == [0, 0]
    unknown = write_rows(tmp_path / "unknown.jsonl", GOOGLE)
    for command, message in (("audit", "nothing was audited"), ("normalize", "no exchange of a known wire")):
        nothing = run(command, unknown)
        assert (nothing.exit_code, message in nothing.stderr) == (5, True)
    real = decoding.normalize

    def faulty(body: Any, *args: Any, **options: Any) -> Any:
        if b"oops" in body:
            raise ZeroDivisionError("oops")
        return real(body, *args, **options)

    monkeypatch.setattr(decoding, "normalize", faulty)
    path = write_rows(tmp_path / "fault.jsonl", row(chat_body("oops")), row(chat_body()))
    assert [run(command, path).exit_code for command in ("audit", "normalize")] == [4, 4]
    assert "decoder-fault" in run("audit", path).stdout
    fault, good_line = lines(path)
    assert (fault["response"], fault["findings"][0]["code"]) == (None, "decoder-fault")
    assert "ZeroDivisionError: oops" in fault["findings"][0]["message"]
    assert good_line["response"]


def test_unusable_options_are_usage_errors_with_a_hint() -> None:
    result = run("audit", EXAMPLES, "--fail-on", "dropped")
    assert (result.exit_code, "did you mean dropped-call" in result.stderr) == (2, True)
    assert max(map(len, run("audit", EXAMPLES, "--fail-on", "xyzzy").stderr.splitlines())) < 200
    for arguments in ("audit", "audit x --jobs 0", "normalize", "normalize x --policy some", "normalize x --wire smtp"):
        assert run(*arguments.split()).exit_code == 2
    assert run("normalize", "x", "--limit", "-1").exit_code == 2


def test_sarif_has_each_finding_at_its_line_and_no_text_of_the_traffic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    talks = [exchange for n in range(30) for exchange in conversation(f"c{n}", kept=1)]

    def sarif(*before: str) -> dict[tuple[str, str], int]:
        path = write_rows(tmp_path / "a log.jsonl", *before, *talks, row("sk-ant-api03-oops {", id="page"))
        assert run("audit", "part", path, "-o", tmp_path / "part").exit_code == 4
        written, *same = (
            run("audit", *args, "--sarif", "-").stdout
            for args in ((path,), (f"../{tmp_path.name}/./{path.name}",), ("merge", tmp_path / "part"))
        )
        assert same == [written, written]
        assert not re.search("sk-ant|Run c|4Kd9Xw2", written)
        (one,) = json.loads(written)["runs"]
        assert not one["invocations"][0]["executionSuccessful"]
        assert all(one["tool"]["driver"]["rules"][it["ruleIndex"]]["id"] == it["ruleId"] for it in one["results"])
        places = [it["locations"][0]["physicalLocation"] for it in one["results"]]
        assert {place["artifactLocation"]["uri"] for place in places} == {"a%20log.jsonl"}
        keys = [(it["ruleId"], *it["partialFingerprints"].values()) for it in one["results"]]
        return dict(zip(keys, (place["region"]["startLine"] for place in places), strict=True))

    found = sarif()
    dropped = [line for (code, _), line in found.items() if code == "dropped-in-fact"]
    assert (dropped, len(found) > 30) == ([2 * n for n in range(1, 31)], True)
    assert sarif("", "") == {key: line + 2 for key, line in found.items()}
    named = (tmp_path / "a log.jsonl").rename(tmp_path / f"ghp_{'a1B2' * 9}.jsonl")
    monkeypatch.undo()
    written = run("audit", named, "--sarif", "-").stdout
    assert (tmp_path.as_uri() in written, "ghp_" in written) == (True, False)


@pytest.mark.service("audit")
def test_an_interrupt_ends_the_workers(tmp_path: Path) -> None:
    """Some parts are done, and others wait for the two workers."""
    path = write_rows(tmp_path / "r.jsonl", *[row(chat_body("f"))] * 900)
    assert interrupted(path, "--jobs", "2", part=12) == (130, "interrupted", False)


def test_tables_fit_the_width_and_have_no_colour_without_a_terminal() -> None:
    for columns in (60, 80, 120):
        shown = run("audit", EXAMPLES, columns=columns).stdout
        tables, _, _ = shown.partition("The worst places")
        assert max(map(len, tables.splitlines())) <= columns
        assert (shown.count("openai.responses") >= 3, "\x1b" in shown) == (True, False)


def test_a_table_is_split_by_columns_and_keeps_its_labels_and_colour_changes_nothing_else() -> None:
    sections: list[Table | Lines] = [
        Table("T", ["", *(letter * 10 for letter in "abcd")], [["row", 1, 2000, 0, StyledText("x", "bad")]]),
        Lines("L", [(StyledText("head", "warning"), "tail " * 30)]),
        Table("empty", ["a"], []),
    ]
    whole, split, coloured = (
        render(sections, width=width, colour=colour) for width, colour in ((80, False), (40, False), (40, True))
    )
    assert [len(re.findall("^row", text, re.MULTILINE)) for text in (whole, split)] == [1, 2]
    assert ("2,000" in whole, "empty" in whole) == (True, False)
    assert max(map(len, split.splitlines())) <= 40
    assert "\x1b[31mx" in coloured
    assert re.sub(r"\x1b\[\d*m", "", coloured) == split


@pytest.mark.thorough
def test_all_recordings_are_audited_without_a_fault(recordings: Path) -> None:
    found = data(*files(recordings, "*"))
    assert found["audited"] >= 12500
    misfiled = dict.fromkeys(MISFILED, 2)  # answers in the format of another wire, which the audit reports
    assert (found["faults"], found["problems"]) == (sum(misfiled.values()), 0)
    assert {name: w["undecoded"] for name, w in found["wires"].items()} == dict.fromkeys(WIRES, 0) | misfiled
    assert found["unknown"]


def test_a_line_has_the_members_that_other_programs_rely_on(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "r.jsonl", row(chat_body("f", "g"), id="one"))
    (line,) = lines(path, "--policy", "first")
    members = {"source": f"{path}#1", "id": "one", "provider": "openai", "wire": "openai.chat", "stream": False}
    assert {name: line[name] for name in members} == members
    assert list(line) == [*members, "response", "selection", "findings"]
    selection = line["selection"]
    assert list(selection) == ["policy", "limit", "choice", "kept", "dropped", "rejected"]
    assert selection["kept"] == [{"block": 0, "choice": 0, "id": "call_0", "name": "f", "reason": None}]
    assert ([ref["name"] for ref in selection["dropped"]], selection["rejected"]) == (["g"], [])
    (finding,) = line["findings"]
    place = {"code": "dropped-call", "severity": "warning", "choice": 0, "block": 1}
    assert {name: finding[name] for name in place} == place
    assert [block["type"] for block in line["response"]["choices"][0]["blocks"]] == ["tool_call", "tool_call"]
    for options, kept in (((), 2), (("--policy", "batch", "--limit", "1"), 1), (("--limit", "0"), 0)):
        (line,) = lines(path, *options)
        assert len(line["selection"]["kept"]) == kept


def test_raw_returns_exchanges_that_can_be_read_again_and_only_a_request_with_tools_declares_any(
    tmp_path: Path,
) -> None:
    tools = {"tools": [{"type": "function", "function": {"name": "g"}}]}
    path = write_rows(
        tmp_path / "r.jsonl",
        row(chat_body("f"), request={"model": "m"}),
        row(None, wire="xai.grpc", frames=[]),
        row("/w==", body_encoding="base64"),
        row(chat_body("f"), request=tools),
    )
    found = lines(path, "--raw")
    plain, frames, binary, declared = (line["raw"] for line in found)
    assert plain == {"request": {"model": "m"}, "status": 200, "body": chat_body("f")}
    assert (frames["frames"], binary["body"], binary["body_encoding"]) == ([], "/w==", "base64")
    assert declared["request"] == tools
    assert (found[0]["findings"], [finding["code"] for finding in found[3]["findings"]]) == ([], ["unknown-tool"])
    assert "raw" not in lines(path)[0]


def test_a_dash_is_standard_input(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "r.jsonl", row(chat_body("f")), row(chat_body()))
    for path in (EXAMPLES / "openai.chat.yaml", EXAMPLES / "anthropic.messages.yaml", rows):
        expected = [{**line, "source": line["source"].replace(str(path), "-")} for line in lines(path)]
        assert lines("-", input=path.read_bytes()) == expected
    one = write_rows(tmp_path / "one.jsonl", row(chat_body("f")))
    piped = run("audit", "-", input=one.read_bytes())
    assert (piped.exit_code, piped.stdout) == (0, run("audit", one).stdout)
    assert piped.stdout.startswith("1 exchange on 1 wire")


def test_a_body_with_a_byte_order_mark_half_a_surrogate_pair_or_without_choice_0_is_read(tmp_path: Path) -> None:
    body = json.loads(chat_body("f", arguments='{"x": "\\ud800"}'))
    body["choices"][0]["index"] = 1
    (tmp_path / "bom.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(body).encode())
    (line,) = lines(tmp_path / "bom.json")
    assert (line["wire"], line["selection"]["choice"]) == ("openai.chat", 1)
    assert [ref["name"] for ref in line["selection"]["kept"]] == ["f"]
    assert line["response"]["choices"][0]["blocks"][0]["arguments"] == {"x": "\ud800"}


@pytest.mark.parametrize("wire", BYTE_WIRES)
def test_a_json_object_without_a_response_is_unreadable_on_every_wire(tmp_path: Path, wire: str) -> None:
    (tmp_path / "a.json").write_text('{"level": "INFO", "msg": "ready"}')
    (tmp_path / "b.jsonl").write_text('{"message": "a", "time": 1}\n')
    assert run("normalize", tmp_path, "--wire", wire).exit_code == 4
    found = [(line["response"], line["findings"][0]["code"]) for line in lines(tmp_path, "--wire", wire)]
    assert found == [(None, "malformed-body")] * 2


def test_the_option_wire_names_the_wire_if_the_input_does_not(tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text('{"error": {"message": "no"}}')
    assert run("normalize", tmp_path / "b.json").exit_code == 4
    (line,) = lines(tmp_path / "b.json", "--wire", "openai.responses")
    assert line["response"]["error"]["message"] == "no"


def corpus(folder: Path, name: str, count: int = 40) -> Path:
    """Lines of every kind, in a file whose name must be escaped in JSON."""
    path = folder / f'"é #7","id":{name}'
    half = json.dumps(row('{"choices": "\\ud800"}', id="\ud800"))
    kinds: list[Any] = [row(chat_body("f", "g"), id="ü"), "", row(chat_stream("f"), stream=True), "{broken", half]
    return write_rows(path, *(kinds * count)[:-2])


@pytest.mark.parametrize("command", ["audit --json", "normalize --raw"])
def test_the_result_is_the_same_for_any_number_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    paths = [corpus(tmp_path, name) for name in ("0.jsonl", "1.jsonl.gz", "2.jsonl")]
    arguments: list[Any] = [*command.split(), *paths, tmp_path / "missing", EXAMPLES]
    whole = run(*arguments, "--jobs", "1")
    for jobs, size in (("1", 97), ("1", 3000), ("2", 3000)):  # parts without a line, and with some
        monkeypatch.setattr(parallel, "PART_BYTES", size)
        parts = run(*arguments, "--jobs", jobs)
        assert (parts.stdout_bytes, parts.stderr, parts.exit_code) == (whole.stdout_bytes, whole.stderr, 4)
    assert f"{paths[0]}:4: invalid JSON" in whole.stderr
    if command.startswith("audit"):
        assert json.loads(whole.stdout)["exchanges"] == 3 * (3 * 40 - 1) + 9
    else:
        sources = [json.loads(line)["source"] for line in whole.stdout.splitlines()]
        assert sources[:3] == [f"{paths[0]}#1", f"{paths[0]}#3", f"{paths[0]}#5"]
        assert f"{paths[1]}#{40 * 5 - 2}" in sources


def test_explain_prints_how_each_file_was_read(tmp_path: Path) -> None:
    key = "sk-ant-api03-" + "aB3dE5fG7h" * 9
    entry = json.dumps({"ask": {"messages": []}, "answer": json.loads(chat_body("f"))})
    at = "2026-11-27T10:00:00.1Z std"
    log = [
        f"{at}out P {entry[:50]}",
        f"{at}err F key \x1b[31m {key}",
        f"{at}out F {entry[50:]}",
        f'{at}out F {{"choices": [',
    ]
    write_rows(tmp_path / "0.log", *log)
    (tmp_path / "two.csv").write_text("id,old,new\n1,{0},{0}\n".format('"' + chat_body("f").replace('"', '""') + '"'))
    result = run("audit", "--explain", tmp_path)
    assert result.stdout.replace(f"{tmp_path}/", "").splitlines() == [
        "0.log",
        "  format      text: its first line has the prefix of a container runtime (CRI)",
        "  exchanges   1: openai.chat 1",
        "  found by    1: line of a container, pieces joined > request in ask, response in answer"
        " > row of request and response",
        "  calls       1 read; an independent count of the responses finds at least 1",
        "  not read    1: a text shows traffic, but no JSON that is complete and known, first at 0.log:4",
        '              0.log:4: {"choices": [',
        "  what to do  log bodies as JSON",
        "  skipped     1: a line of text, first at 0.log:2",
        "              0.log:2: key \\x1b[31m " + ("REDACTED" * 9)[:70] + "… [of 113 characters]",
        "two.csv",
        "  format      table: its name ends with .csv",
        "  rows        1",
        "  exchanges   0",
        "  not read    1: no traffic: several members hold requests or responses: old, new, first at two.csv#1",
        "              two.csv#1: members: id, old, new",
        "  what to do  if this is a body, pass its wire with --wire; if it is a row, its columns with --column "
        "request=NAME --column response=NAME",
    ]
    assert result.exit_code == 4
    assert run("audit", "--explain", "--json", tmp_path).exit_code == 2
    assert data(tmp_path / "two.csv", "--column", "response=new")["exchanges"] == 1
