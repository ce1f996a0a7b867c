"""Fabrics, their routers, links and endpoints."""
