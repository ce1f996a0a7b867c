"""Tables 3.1 to 5.5 of Taffet 2021, with published and our figures: `make papers-routes`.

Steps, in order: `__main__` selects the requested rows from `catalogue`. `report` measures them one by one, or several at once, and stores each as JSON as
soon as it is measured. The page is written from the stored rows and marks rows that were not measured.

Open

- `rows` for the definition of rows and cells, and for the sizes of measurements;
- `routes_and_bases` for chapters 3 and 4: patterns, routes, bases and reconstructions; `formulations` for the convergence of its integer programs;
- `reconstructions` for the cells of tables 4.2 and 4.3, `convergence` for the decrease of their error while solving;
- `loops` for chapter 5, `barrier` for its section 5.4.2, `seen` for the congestion in the plots;
- `beyond` for measurements without a table in the dissertation: failed cables and scattered jobs.

Published figures are not written here: rows refer to the table of published numbers.
"""
