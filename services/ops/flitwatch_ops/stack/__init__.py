"""Real servers started from packages: Apache Kafka and TimescaleDB, each in its own folder and restarted after a crash."""
