"""Which results are texts of a framework: those that public agents and gateways insert, and none that tools return."""

from __future__ import annotations

import pytest

from toolparity.audit.conversations.invented import is_placeholder

#: What agents and gateways insert, as of 2026-11: the form is what counts, with the ids and names left out.
INVENTED = (
    "[no tool result recorded]",
    'No tool result was recorded for "f"; execution status is unknown.',
    "[Tool result missing due to internal error]",
    "[Result unavailable — see context summary above]",
    "[No tool result available]",
    "No result provided",
    "tool result unavailable",
    '{"error": "tool response was not persisted; placeholder synthesised", "autoheal": true}',
    "[Tool execution was interrupted]",
    "Error: The tool execution was interrupted or failed to return a result.",
    '{"status":"error","tool":"f","error":"Tool execution was interrupted"}',
    "Tool call f with id call_1 was cancelled - another message came in.",
    "[System: Tool execution skipped/interrupted by user. No result provided for tool 'f'.]",
    "interrupted - tool was not executed before recovery",
    "tool call was interrupted",
    "aborted by user after 3.2s",
    "[Request interrupted by user for tool use]",
    "This tool call was never executed.",
    "[MISSING TOOL RESULT]",
    "No response from tool",
)
#: What tools, policies and users say.
TRUE = (
    "",
    "No results found.",
    "No output",
    "The order was cancelled by the user on 3 May.",
    "Tool not executed - a final result was already processed.",
    "This call was not executed: only the first call of a response is executed.",
    "The user rejected this tool call.",
    "Tool call skipped: maximum tool calls limit (1) reached.",
    "No data available for Lisbon",
    "Function f was called 3 times and was not interrupted by the debugger",
    "Build log of the runner, which is long enough to come before the text: tool execution was interrupted",
    '{"status": "cancelled", "order": 7}',
    '{"output":"cancelled"}',
    "cancelled",
    "aborted",
    "Operation cancelled",
    "Request aborted",
    "Operation canceled by user bob at 12:00",
    "Error: function result is missing a type",
    "Function response missing type hints in foo.ts",
    "Function output not found: /tmp/out.txt",
    "no tool output found in docs",
    'src/agent.py:12: "tool call was interrupted"',
    "Tool call cancelled: order 77 status is final",
    "Result missing: the patient did not show up",
    "No result received from the sensor yet",
)


@pytest.mark.parametrize("text", INVENTED)
def test_texts_that_frameworks_insert_are_recognized(text: str) -> None:
    assert is_placeholder(text)


@pytest.mark.parametrize("text", TRUE)
def test_what_tools_and_policies_say_is_not(text: str) -> None:
    assert not is_placeholder(text)
