"""Real servers for tests and benchmarks, on loopback, without Docker."""
