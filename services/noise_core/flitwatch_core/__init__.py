"""The noise core: arrays in, arrays out. It uses no database and no other Flitwatch package. Only `packet_path` opens sockets."""
