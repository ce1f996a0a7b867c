"""Counters and packet samples: batches in with their rollups, columns out; long buckets of whole fabrics (`rollups`)."""
