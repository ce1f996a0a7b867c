"""Queries of the API: asynchronous, read-only, big answers as numpy columns.

Every statement is a constant or composed of `psycopg.sql` identifiers that stand in this package; what a caller sends travels as a parameter.
"""
