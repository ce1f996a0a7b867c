"""Operations: the embedded database server, the stacks, the supervisor of the platform's processes, and the checks of `flitwatch doctor`."""
