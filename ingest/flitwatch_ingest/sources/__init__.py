"""Decoders from producers' files to the records of the log; they read text and bytes and publish nothing."""

from flitwatch_ingest.sources.rejection import Rejection

__all__ = ["Rejection"]
