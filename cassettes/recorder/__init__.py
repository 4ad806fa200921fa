"""The recorder: plays scripts through the official SDKs, records the traffic, and replays it.

Flow: script -> `script_driver` (writes the requests) -> `sdks` (sends them) -> the wire, under vcrpy (`vcr`). `record`
writes a verified recording to a file. `replay` plays a file through the SDK with the network blocked. `diff` compares
two recordings. `verify` checks a library.
"""
