"""Traffic of jobs: patterns, message DAGs, traffic files, placements and background traffic.

A pattern or a file becomes messages in rounds, a placement gives every rank an endpoint, and both together become the packet engine's operations.

Open

- `messages` for messages in rounds, their operations, and how they become the engine's;
- `patterns` for the papers' patterns by name;
- `minighost` for one time step of that application;
- `training` for collectives of machine learning;
- `phases` for messages of a trace;
- `placement` for which rank is where.
"""
