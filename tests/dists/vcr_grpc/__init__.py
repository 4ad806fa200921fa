"""gRPC in vcrpy: real servers on loopback, recorded, then played with the servers gone."""
