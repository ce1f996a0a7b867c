"""What jobs send: patterns, message DAGs, traffic files, placements and background traffic."""
