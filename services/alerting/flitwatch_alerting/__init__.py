"""Rules, their evaluation and delivery; and the webhook of job ends."""
