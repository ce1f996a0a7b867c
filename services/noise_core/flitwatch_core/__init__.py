"""The noise core: arrays in, arrays out. Knows no database, no network and no other Flitwatch package."""
