"""Alert rules, alerts, silences and the outbox: in and out; the signals that rules watch; and the outbox of job ends."""
