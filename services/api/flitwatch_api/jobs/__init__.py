"""Jobs, where they run and who runs alongside them."""
