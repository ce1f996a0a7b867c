"""Published studies, computed anew from a seed."""
