"""A complete third-party wire, `toy.chat`, in one package outside the product.

Requests and responses are JSON over HTTP, streams are server-sent events, which begin a reply, begin a step, add to it,
and end the reply:

    {"model", "entries": [{"by": "system" | "user", "text"}, {"by": "model", "steps"}, {"by": "tool", "ref", "output"}],
     "functions": [{"fn", "about", "takes"}], "stream"}
    {"toy_reply": id, "model", "steps": [{"text"} | {"fn", "ref", "args"}], "end": "done" | "calls" | "cut", "spent"}
    {"toy_event": "begin", "toy_reply", "model"}, {"toy_event": "step", "step"}, {"toy_event": "add", "text"},
    {"toy_event": "end", "end", "spent": {"in", "out"}}
"""
