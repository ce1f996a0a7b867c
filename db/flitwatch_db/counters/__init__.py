"""Counters and packet samples: writes of batches with their rollups, and reads as columns; long buckets of whole fabrics (`rollups`)."""
