"""Alert rules, alerts, silences and the outbox: in and out; and the signals that rules watch."""
