"""Routings that optimised routes are compared with: ftree, minhop, random choices and greedy moves."""
