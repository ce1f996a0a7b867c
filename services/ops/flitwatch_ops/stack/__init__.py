"""Real servers started from packages: Apache Kafka and TimescaleDB, each in a folder of its own, restarted after a kill."""
