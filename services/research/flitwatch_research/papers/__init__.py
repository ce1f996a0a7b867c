"""All figures, tables, equations and algorithms of the five papers, with place, published and our figures, or a reason (`make papers`)."""
