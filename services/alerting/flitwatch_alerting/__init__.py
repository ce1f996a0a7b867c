"""Rules, their evaluation and delivery."""
