"""`toolparity demo`: a chat page against the emulated providers that shows what happens to every tool call.

    page --POST /turns--> Desk --Turn--> client --> emulated provider (loopback)
      ^                     |
      +---- SSE, resumed by Last-Event-ID ---- turn log

`app` is the web application, `desk` starts and resumes turns, `tools` are the tools of the scripts, `tapped` records
the wire, and `narrating` lets an emulated model narrate.
"""
