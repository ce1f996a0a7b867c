"""The command line: every capability behind one lazy command."""

__version__ = "0.1.0"
