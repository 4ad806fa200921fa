"""Gateways by URL: the suite plays the provider behind a gateway and the client in front of it.

    question on the client's wire -> gateway -> `upstream`, which sends the recorded response of the case
    reply on the client's wire    <- gateway <-

- `correlation`: the token that connects a request at the upstream with its case
- `upstream`: the provider, at one address for all wires
- `http_server`: its HTTP server
- `questions`: the client's first request for a scenario
- `client`: sends a request to the gateway and keeps the raw reply
- `conversation`: plays a scenario, round by round
- `reduction`: the table of what a client's wire cannot express
- `asked`: what the gateway changes of the client's request
- `laws`: the laws in the form for gateways
- `preflight`: checks each route before a run
- `judge`: runs the laws on the conversations
- `run`: a whole run, with one thread per worker
"""

#: The port of the upstream for a gateway that the user configures. gRPC has the next port.
PORT = 8790
