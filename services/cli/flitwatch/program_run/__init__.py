"""`flitwatch run`: a program as it would run without us, and its steps reported alongside it.

- `program` starts it: in the place of this process, or, where its output is read for a pattern, as a child whose output is copied byte by byte;
- `monitor` is a process of its own that gathers steps and sends them, so that neither a slow network nor a slow pattern holds the program up;
- `step_lines` makes steps from the lines of the file FLITWATCH_STEPS, or from lines that the program prints;
- `reports` sends a run and its steps to the API, and keeps in a file what could not be sent.

If anything here fails, the program still runs, and ends with its own status.
"""
