"""Tables 3.1 to 5.5 of Taffet 2021 measured again, the published figure alongside ours: `make papers-routes`.

What happens, in order: `__main__` takes the rows that were asked for from `catalogue`; `report` measures them one by one, or several at once, and keeps
each as JSON as soon as it is measured; the page is written from what is kept, so that a row that was not measured says so.

Open

- `rows` for what a row and a cell are, and for the sizes that they are measured at;
- `routes_and_bases` for chapters 3 and 4: patterns, routes, bases (`sparsity`) and reconstructions; `formulations` for how its integer programs come down to routes;
- `reconstructions` for the cells of tables 4.2 and 4.3, `convergence` for how their error falls while they are solved;
- `loops` for chapter 5, `barrier` for its section 5.4.2, `seen` for what its packets saw, which the plots show;
- `beyond` for what the dissertation has no table for: failed cables and scattered jobs.

Published figures are not typed here: rows name their place in the table of published numbers.
"""
