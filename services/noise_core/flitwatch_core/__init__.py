"""The noise core: arrays in, arrays out. Knows no database and no other Flitwatch package; only
`packet_path` opens sockets."""
