"""Counters and packet samples: batches are stored with their rollups, and read as columns; long buckets cover whole fabrics (`rollups`)."""
