"""Items of OpenAI Responses that are client calls. The programs of libraries import this module, too."""

from __future__ import annotations

#: Type of the item -> the name of the call if the item has none, and the member with the arguments.
CLIENT_ITEMS = {
    "function_call": ("", "arguments"),
    "custom_tool_call": ("", "input"),
    "computer_call": ("computer", "action"),
    "local_shell_call": ("local_shell", "action"),
    "shell_call": ("shell", "action"),
    "apply_patch_call": ("apply_patch", "operation"),
}
