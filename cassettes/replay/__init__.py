"""Server that replays a library of cassettes as if it were the providers, for programs in any language.

`response_index` finds the recorded response, by scenario or by content; `http` and `rpc` serve it.
"""
