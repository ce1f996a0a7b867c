"""The system suite: the tests that the gate leaves out, in shards (docs/system-tests.md)."""
