"""What the log writes grows with the turn, and a long value is stored once for all that refers to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import URL

from benchmarks.log import bytes_written, run
from tests.support.thoroughness import is_thorough
from tests.turns.log.shared import assert_replays, recorded, rows, turn
from tests.turns.log.test_rows import VALUES
from tests.turns.playing import WIRES, Counting, Say, call, only, script
from toolparity.normalizer import json_codec
from toolparity.turns.events import TurnBlockDelta, TurnBlockStop
from toolparity.turns.log import Log
from toolparity.turns.log.changes import applied, changes
from toolparity.turns.log.engine import make_engine
from toolparity.turns.log.parts import LONG, Parts, references, unpack
from toolparity.turns.log.tables import metadata

pytestmark = pytest.mark.thorough(keep=1)

ROUNDS = (10, 20, 40) if is_thorough() else (4, 8, 16)
#: How often a turn is resumed.
RESUMED = 12 if is_thorough() else 8


def texts(where: URL) -> Iterator[str]:
    """Every value of every row, as text."""
    engine = make_engine(where)
    with engine.connect() as connection:
        for table in metadata.tables.values():
            for row in connection.execute(sa.select(table)):
                yield from (value if isinstance(value, str) else json_codec.text(value) for value in row)
    engine.dispose()


def assert_linear(sizes: list[int], most: float) -> None:
    first, second, third = sizes
    assert second < most * first, sizes
    assert third < most * second, sizes


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the system does not count what a process writes")
@pytest.mark.parametrize("size", [100, 50_000])
async def test_the_bytes_written_to_disk_grow_linearly_with_the_rounds(tmp_path: Path, size: int) -> None:
    written = []
    for rounds in ROUNDS:
        with Log(tmp_path / f"{rounds}.db") as log:
            before = bytes_written()
            await run(rounds, size, log)
        written.append(bytes_written() - before)
    assert_linear(written, 2.5)


@pytest.mark.parametrize("size", [100, 5_000])
async def test_the_bytes_in_the_tables_grow_linearly_with_the_rounds(url: URL, size: int) -> None:
    sizes: list[int] = []
    with Log(url) as log:
        for rounds in ROUNDS:
            await run(rounds, size, log)
            sizes.append(sum(map(len, texts(url))) - sum(sizes))
    assert_linear(sizes, 2.1)


async def test_the_log_of_a_turn_that_is_resumed_often_grows_linearly(log: Log, url: URL) -> None:
    """Each runner begins with a state: it refers to the state that was kept, and does not repeat it."""
    played = script(*([call("post", number=number)] for number in range(RESUMED)), [Say("Done.")])
    options: Any = {"tools": {"post": {"approval": True}}, "counting": Counting(post=lambda number: "x" * 5000)}
    id = (await recorded(log, played, max_rounds=20, **options)).state.id
    sizes = [sum(map(len, texts(url)))]
    for _ in range(RESUMED):
        async with log.take(id) as later:
            running = turn(later, played, **options)
            running.decide(running.outcome.waiting[0].id, True)
            await running.run()
        sizes.append(sum(map(len, texts(url))) - sum(sizes))
    await assert_replays(log, id)
    assert max(sizes[2:-1]) < 1.3 * min(sizes[2:-1]), sizes


RETURNED = {
    "text": "long text with a mark; " * 500,
    "text that no column accepts": "NUL \x00, half \ud800 a pair and a mark; " * 500,
    "small values": [{"number": number, "name": "a mark"} for number in range(500)],
    "long values": [{"number": number, "text": "a mark; " * 500} for number in range(3)],
}


@pytest.mark.thorough(keep=1, per="{kind}")
@pytest.mark.parametrize("kind", RETURNED)
@pytest.mark.parametrize("wire", WIRES)
async def test_a_result_is_stored_once_besides_its_block_row(log: Log, url: URL, wire: str, kind: str) -> None:
    """As a value also once more where it is shown as text."""
    returned = RETURNED[kind]
    counting = Counting(look=lambda **_: returned)
    id = (await recorded(log, script([call("look")], [Say("Done.")]), wire, counting=counting)).state.id
    marked = sum(len(text) for text in texts(url) if "a mark" in text)
    assert marked < (2.5 if isinstance(returned, str) else 3.5) * len(json_codec.text(returned))
    await assert_replays(log, id)
    [block] = [b for b in (await log.turn(id)).blocks if b.block_type == "tool_result"]
    assert block.content["content"] == returned


async def test_a_long_answer_is_stored_once_besides_its_block_row(log: Log, url: URL) -> None:
    """A step whose event contains the whole input has no row: there is one of Begin, and one of AnswerReceived."""
    answer_text = "words of the model; " * 500 + "and the end"
    for words in ("Hi.", answer_text):
        id = (await recorded(log, script([Say(words)]))).state.id
        events = (await assert_replays(log, id)).events
        assert (len(only(events, TurnBlockDelta)) > 20) == (words == answer_text)
        assert [event.block.text_content for event in only(events, TurnBlockStop)] == [words]
        assert rows(url, "SELECT count(*) FROM steps WHERE turn_id = :id", id=id) == [(2,)]
    assert sum(answer_text in text for text in texts(url)) == 2


def test_changes_contain_only_the_changed_members() -> None:
    before = {"list": [{"a": 1}, {"b": [1, 2]}], "same": {"x": "y"}, "t": True}
    after = {"list": [{"a": 1}, {"b": [1, 2, 3]}, 4], "same": {"x": "y"}, "t": 1, "~/": None}
    assert changes(before, after) == {"/list/1/b/2": 3, "/list/2": 4, "/t": 1, "/~0~1": None}


@given(VALUES, VALUES)
def test_applying_the_changes_between_two_values_yields_the_second(before: Any, after: Any) -> None:
    change = json_codec.decode(json_codec.encode(changes(before, after)))
    assert exact(applied(json_codec.decode(json_codec.encode(before)), change)) == exact(after)


LONG_VALUES = st.recursive(
    VALUES | st.text(min_size=1, max_size=3).map(lambda text: text * LONG),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=6,
)


@given(st.lists(st.dictionaries(st.text(max_size=5), LONG_VALUES, max_size=4), max_size=4))
def test_packed_documents_round_trip(documents: list[dict[str, Any]]) -> None:
    parts = Parts()
    stored: dict[str, str] = {}
    for document in [*documents, *documents]:
        text = json_codec.text(document)
        packed = parts.pack(text)
        new = {row["digest"]: row["value"] for row in parts.take()}
        assert not new.keys() & stored.keys()
        stored.update(new)
        assert references([packed]) <= stored.keys()
        assert exact(json_codec.decode(unpack(packed, stored))) == exact(json_codec.decode(text))


def exact(value: Any) -> str:
    """Where 1, 1.0 and true differ, and the order of members counts."""
    return json.dumps(json_codec.decode(json_codec.encode(value)))
