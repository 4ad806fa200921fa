"""`toolparity proxy`: passes traffic to a provider unchanged, and judges a copy of it on the side.

    application --> server --> forward --> transport --> negotiation --> http1, http2 or sessions --> provider
                                              |
                                          ExchangeCopy --> worker process: judge --> sinks: log, page, metrics, spans
                                              |
                                              +----------> worker process: recording

`serving` is the connection of a client. `transport` copies what passes, within bounds. `observer` gives the copies to
workers (`worker`, `child`), each with a bounded queue. What does not fit is not judged, and is counted. No fault of
this side reaches the traffic.
"""
