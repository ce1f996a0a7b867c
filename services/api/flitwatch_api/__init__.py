"""API and page: REST, server-sent events and static files over one database.

There is one folder per domain term: `http.py` contains the routes, `schemas.py` the response models, other modules the logic between them.
`flitwatch_api.app.create_app` creates the application; its configuration is `flitwatch_api.settings.Settings`.

`serve` runs uvicorn with the domain's `http_protocol`. A request passes `security` and the other middleware (`response_recorder`, `heads`,
`tracing`, `logs`), and `people.access` finds its caller. The route in `<word>/http.py` calls its service, which reads through `platform` and
responds with `answers` or `columnar`. `names` hides people from callers below operator. `problems` converts exceptions to responses.

Modules:

- `app` for the order of middleware and routers; `settings` for environment variables; `platform` for the state of one process, `worker_threads` for
  its threads;
- `<word>/http.py` for a route, `<word>/schemas.py` for its response model;
- `shared_answers` for responses shared by many viewers;
- `parameters` for windows, times and cursors; `answers` for JSON and entity tags; `columnar` for Arrow and Parquet;
- `problems` to map an error to a status, and to a page for browsers; `refusals` for refused records;
- `names` for pseudonyms; `people` for logins, tokens and the audit log; `security` for headers, hosts and sizes;
- `description` for access requirements in the OpenAPI document, `openapi` to print it; `site` for the built page.

A new route needs a folder with `http.py` and `schemas.py`, a line in `app`, and a regenerated docs/contracts/openapi.json.
"""
