"""The API and the page: REST, server-sent events and static files over one database.

A folder a domain word: `http.py` holds the routes, `schemas.py` the shapes of answers, other modules the work between. The application is made
by `flitwatch_api.app.create_app`; what it needs from outside is in `flitwatch_api.settings.Settings`.

What happens, in order: `serve` runs uvicorn with the domain's `http_protocol`; `security` and the other middleware see a request first (`response_recorder`, `heads`, `tracing`, `logs`);
`people.access` finds its caller; the route in `<word>/http.py` calls its service, which reads through `platform` and answers with `answers` or
`columnar`; `names` hides people from callers below operator; `problems` turns exceptions into answers.

Open

- `app` for the order of middleware and routers; `settings` for environment variables; `platform` for what one process holds, `worker_threads` for its threads;
- `<word>/http.py` for a route, `<word>/schemas.py` for the shape of its answer;
- `shared_answers` for what many viewers ask at once;
- `parameters` for windows, times and cursors; `answers` for JSON and entity tags; `columnar` for Arrow and Parquet;
- `problems` to map an error to a status, and to a page for browsers; `refusals` for refused records;
- `names` for pseudonyms; `people` for logins, tokens and the audit log; `security` for headers, hosts and sizes;
- `description` for what OpenAPI says of each route, `openapi` to print it; `site` for the built page.

A new route is a folder with `http.py` and `schemas.py`, a line in `app`, and a new docs/contracts/openapi.json.
"""
