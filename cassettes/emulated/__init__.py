"""Emulated providers: local servers that answer requests from scripts, in the format of the real providers.

`script_player.play` selects the script and the round that answer a request. One module per surface encodes the answer
as the provider does. `http` and `rpc` serve it. Every response carries a header that marks it as emulated.
"""
