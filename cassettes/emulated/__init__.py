"""Emulated providers: what the real ones would send, invented from scripts, on loopback only.

`play` finds what a request asks for and which round of which script answers it; one module a wire spells the answer
as the provider does; `http` and `rpc` carry it. What they send is called emulated wherever it goes.
"""
