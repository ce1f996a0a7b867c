"""Fabrics, their planes and the changes of their routes: reads and writes."""
