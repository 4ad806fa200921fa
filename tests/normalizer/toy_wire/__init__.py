"""A complete third-party wire, `toy.chat`, in one package outside the product.

Requests and responses are JSON over HTTP, streams are server-sent events:

    {"model", "entries": [{"by": "system" | "user", "text"}, {"by": "model", "steps"}, {"by": "tool", "ref", "output"}],
     "functions": [{"fn", "about", "takes"}], "stream"}
    {"toy_reply": id, "model", "steps": [{"text"} | {"fn", "ref", "args"}],
     "end": "done" | "calls" | "cut", "spent": {"in", "out"}}
    {"toy_event": "begin" | "text" | "call" | "args" | "end", …}

`spec` describes it to the registry, `sdk` is the official SDK of its provider, and every other module is a part of the
wire. `tests/normalizer/test_toy_wire.py` installs this package as a separate distribution.
"""
