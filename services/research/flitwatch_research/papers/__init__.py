"""All figures, tables, equations and algorithms of the five papers, with place, published and our figures, or a reason (`make papers`).

Steps, in order:

1. `__main__` measures the places of `measured` that are left, and stores each immediately.
2. `pictures` draws from generated traffic and stored runs.
3. `report` writes the page from `items`, the published figures and the stored measurements.

Open

- `items` for the rows, their states and the criteria;
- `network_noise` for the sources of noise and the simulated benchmark of Hoefler 2009;
- `sinusoids` for signals from few samples, `dictionary` for the parts of a matrix, and `scaled_counters` for a factor on all counters (Taffet 2021);
- `master_problem` for routes of the master problem alone, on a small tree;
- `fraction_plot` for congested fraction plots, `trends` for mean counters of a campaign;
- `mpip` for figures from reports of MPI profiles.
"""
