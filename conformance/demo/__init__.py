"""`toolparity demo`: a page with emulated providers that shows what happens to every tool call.

    page --POST /turns--> Sessions --> TurnManager --> Turn, of the agent of TurnFactory --> provider
      ^                                     |                                                   |
      +---- SSE, resumed by Last-Event-ID --+-- turn log      trace: pieces, canonical events, times

`app` is the web application, with the routes of the manager. `sessions` starts turns and keeps their traces, and
`factory` makes their agents. A turn of an act (`acts`)
has its model in this process (`emulated_model`); a turn of the chat goes through an SDK to an emulated provider, where
`narrator` lets a model narrate. `tools` has the tools of the scripts, `trace` records the wire, `state_picture` draws
the state diagram, and `server` and `supervisor` run the process.
"""
