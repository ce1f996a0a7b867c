"""Traffic of jobs: patterns, message DAGs, traffic files, placements and background traffic.

A pattern or a file becomes messages in rounds, a placement assigns an endpoint to every rank, and both together become the packet engine's operations.

Open

- `messages` for messages in rounds, and their conversion to the engine's operations;
- `patterns` for the papers' patterns by name;
- `minighost` for one time step of that application;
- `training` for collectives of machine learning;
- `phases` for messages of a trace;
- `placement` for placing ranks.
"""
