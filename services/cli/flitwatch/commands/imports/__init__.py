"""One module per kind of file that `flitwatch import` reads."""
