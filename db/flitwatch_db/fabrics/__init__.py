"""Fabrics, their planes and the changes of their routes: in and out."""
