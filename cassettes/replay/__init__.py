"""A library of cassettes served as if it were the providers, so that a program in any language can be pointed at it.

`deck` finds the recorded answer to a request, by scenario or by what the request says; `http` and `rpc` give it.
"""
