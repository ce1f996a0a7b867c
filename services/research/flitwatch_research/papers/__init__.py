"""Every figure, table, equation and algorithm of the five papers: where it is here, published and ours, or why not (`make papers`)."""
