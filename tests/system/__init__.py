"""The system suite: tests that are not in the gate, in shards (docs/system-tests.md)."""
