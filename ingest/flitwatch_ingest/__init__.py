"""Collectors that publish, decoders, and the writer."""
