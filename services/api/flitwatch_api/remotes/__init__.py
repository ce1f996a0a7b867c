"""Other Flitwatch platforms whose machines this one's page shows: read through this API, never copied.

A remote is asked with a token of its own that may read only. What it answers is handed on as it comes; who may see it is checked here first.

Open

- `address` for what the setting names; `access` for what a remote lets this platform read, and whose names it shows;
- `client` for asking one remote; `listing` for its machines; `relay` for handing an answer or a stream of events on;
- `http` for the routes, `schemas` for the list of remotes.
"""
