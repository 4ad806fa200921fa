"""A small agent for Chat Completions. Replace it by your agent, which then runs the tools."""

import json
import urllib.request


def run(base_url, tools):
    """Ask the model, run the tools that it calls, and send their results. `tools`: name -> tool."""
    messages = [{"role": "user", "content": "Hello"}]
    choice = ask(base_url, messages, tools)
    if choice["finish_reason"] != "tool_calls":
        return  # refused, filtered, cut, or only text
    messages.append(choice["message"])
    for call in choice["message"].get("tool_calls") or []:
        content = result(call["function"], tools)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    ask(base_url, messages, tools)


def result(function, tools):
    """Run one call if its tool exists and its arguments are an object, and return the text for the model."""
    if function["name"] not in tools:
        return f"unknown tool: {function['name']}"
    try:
        arguments = json.loads(function["arguments"] or "{}")
    except ValueError as error:
        return f"the arguments are not valid JSON: {error}"
    if not isinstance(arguments, dict):
        return "the arguments are not an object"
    return tools[function["name"]](arguments)


def ask(base_url, messages, tools):
    """Send the messages and the declarations of the tools, and return the first choice of the response."""
    functions = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in tools.values()
    ]
    request = {"model": "any", "messages": messages}
    if functions:
        request["tools"] = [{"type": "function", "function": function} for function in functions]
    headers = {"Content-Type": "application/json"}
    sent = urllib.request.Request(base_url + "/chat/completions", json.dumps(request).encode(), headers)
    with urllib.request.urlopen(sent) as response:
        return json.load(response)["choices"][0]
