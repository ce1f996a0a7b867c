"""What comes in, and what was refused."""
