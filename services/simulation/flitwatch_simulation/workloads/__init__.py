"""Traffic of jobs: patterns, message DAGs, traffic files, placements and background traffic.

A pattern or a file becomes messages in rounds, a placement assigns an endpoint to every rank, and both together become the packet engine's operations.

Open

- `messages` for messages in rounds (also of a trace, and of collectives of machine learning), and their conversion to the engine's operations;
- `patterns` for the papers' patterns by name;
- `minighost` for one time step of that application;
- `placement` for placing ranks.
"""
