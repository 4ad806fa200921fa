"""`toolparity demo`: a chat page against the emulated providers that shows what happens to every tool call.

    page --POST /turns--> Sessions --Turn--> client --> emulated provider (loopback)
      ^                       |
      +---- SSE, resumed by Last-Event-ID ---- turn log

`app` is the web application, `sessions` starts and resumes turns, `tools` has the tools of the scripts, `wire_log`
records the wire, and `narrator` lets an emulated model narrate.
"""
