"""Alert rules, alerts, silences and the outbox of notices; the signals that rules watch; and the outbox of job ends."""
