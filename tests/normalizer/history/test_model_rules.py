"""The table of rules of particular models, in checks and in hand-overs."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from toolparity import check_request, read_request, write_request
from toolparity.normalizer.conversation import Request, TextPart, ToolChoice, ToolDefinition, User
from toolparity.normalizer.model import Wire
from toolparity.normalizer.wires import model_rules
from toolparity.normalizer.wires.registry import spec

#: Row -> a refused request and an accepted neighbour.
EXAMPLES: dict[str, list[dict[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("model_examples.toml").read_text("utf-8")
)
TABLE = Path(model_rules.__file__).with_name("model_rules.toml")
ROWS = {row["id"]: row for row in tomllib.loads(TABLE.read_text("utf-8"))["rule"]}


def test_PAR_31_PAR_32_each_row_refuses_its_example_and_not_the_accepted_neighbour() -> None:
    wrong: dict[str, Any] = {}
    for id, examples in EXAMPLES.items():
        row, wire = ROWS[id], ROWS[id]["wire"]
        provider = row.get("provider", [spec(wire).owner])[0]
        refused, accepted = ({spec(wire).model_member: body["model"], **body} for body in examples)
        certain = row["confidence"] in ("recorded", "two threads") and row["status"] != "deprecated"
        if (id in rules(refused, wire, provider)) != certain:
            wrong[id] = "the example"
        if any(
            True for each in model_rules.rules_for_body(wire, provider, accepted) for _ in each.rule.check(accepted)
        ):
            wrong[id] = "the neighbour"
        losses: list[tuple[str, str]] = []
        model_rules.fit_model(refused, wire, provider, lambda *loss, losses=losses: losses.append(loss))
        changing = {"omit", "set", "rename"} & row.keys()
        if changing and id in [each.row.id for each in broken(refused, wire, provider)]:
            wrong[id] = "the change"
        if bool(losses) != bool(changing - {"rename"}):
            wrong[id] = losses
    assert wrong == {}
    assert EXAMPLES.keys() == {id for id, row in ROWS.items() if "unused" not in row}


def rules(body: Any, wire: Wire, provider: str) -> list[str]:
    return [violation.rule for violation in check_request(body, wire, provider=provider)]


def broken(body: Any, wire: Wire, provider: str) -> list[model_rules.ModelRule]:
    return [each for each in model_rules.rules_for_body(wire, provider, body) if [*each.rule.check(body)]]


def test_a_request_that_is_handed_over_leaves_out_what_the_model_refuses() -> None:
    both = {"temperature": 0.5, "top_p": 0.9}
    targets: tuple[tuple[Wire, str | None, str, set[str]], ...] = (
        ("anthropic.messages", None, "claude-sonnet-4-5", {"top_p"}),
        ("anthropic.messages", None, "claude-opus-4-7", {"temperature", "top_p"}),
        ("anthropic.messages", None, "claude-opus-5", {"temperature", "top_p"}),
        ("bedrock.converse", None, "us.anthropic.claude-sonnet-4-5-20250929-v1:0", {"topP"}),
        ("openai.chat", "azure", "gpt-5-mini", {"temperature", "top_p"}),
        ("openai.chat", None, "gpt-4o", set()),
        ("google.gemini", None, "gemini-3.6-flash", {"temperature", "topP"}),
    )
    for wire, provider, model, left_out in targets:
        request = Request("xai.grpc", model, [User([TextPart("hi")])], params=both)
        encoded = write_request(request, wire, provider=provider)
        holder = encoded.body.get("inferenceConfig") or encoded.body.get("generationConfig") or encoded.body
        names = {"top_p", "topP", "temperature"} & holder.keys()
        reported = {loss.message.split()[0].rpartition(".")[2] for loss in encoded.losses if model in loss.message}
        assert (reported, len(names)) == (left_out, 2 - len(left_out)), (wire, model)
        assert check_request(encoded.body, wire, provider=provider) == []


def test_a_body_shares_nothing_with_the_table_and_a_replaced_member_is_reported() -> None:
    tool, choice = ToolDefinition("f", parameters={"type": "object"}), ToolChoice("required")
    request = Request("openai.chat", "claude-opus-5-5", [User([TextPart("hi")])], [tool], choice, False)
    for _ in range(2):
        encoded = write_request(request, "anthropic.messages")
        assert encoded.body["tool_choice"] == {"type": "auto"}
        assert any("without disable_parallel_tool_use" in loss.message for loss in encoded.losses)
        encoded.body["tool_choice"]["type"] = "changed by the caller"


def test_a_request_that_stays_with_its_provider_is_not_changed() -> None:
    body = {"model": "gpt-5-mini", "messages": [{"role": "user", "content": "hi"}], "temperature": 0.5}
    assert write_request(read_request(body, "openai.chat", provider="openai")).body == body
    assert rules(body, "openai.chat", "openai") == ["gpt-5-temperature"]
    assert rules(body, "openai.chat", "openrouter") == []
