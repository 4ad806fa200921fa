"""The recorder: plays scripts through the official SDKs, records what goes over the line, and plays it again.

script -> `rounds` (what the caller says next) -> `players` (the SDK) -> the wire, under vcrpy (`vcr`)
`record`: the scenario into a file, once all is well; `replay`: the file through the SDK again, the network cut;
`diff`: what changed between two recordings
"""
