"""Jobs, where they run and who runs beside them."""
