"""`flitwatch run`: run a program unchanged and report its steps.

- `program` starts it: it replaces this process, or, if its output is matched with a pattern, it is a child whose output is copied byte by byte;
- `monitor` is a separate process that collects and sends steps, so that neither a slow network nor a slow pattern delays the program;
- `step_lines` parses steps from the file FLITWATCH_STEPS, or from the program's output;
- `reports` sends a run and its steps to the API, and stores unsent ones in a file.

If anything here fails, the program still runs and ends with its own status.
"""
