"""API and page: REST, server-sent events and static files over one database.

There is one module or folder per domain term. A module contains the routes and their response models; in a folder `http.py` contains the routes, `schemas.py`
the response models, and other modules the logic between them.
`flitwatch_api.app.create_app` creates the application; its configuration is `flitwatch_api.settings.Settings`.

`serve` runs uvicorn with the domain's `http_protocol`. A request passes `security` and the other middleware (`site`,
`logs`), and `people.access` finds its caller. The route calls its service, which reads through `platform` and
responds with `answers` or `columnar`. `names` hides people from callers below operator. `problems` converts exceptions to responses.

Modules:

- `app` for the order of middleware and routers; `settings` for environment variables; `platform` for the state and the threads of one process;
- `diagnosis`, `explanation`, `incidents`, `links`, `network_noise`, `noise`, `projects`, `recommendations`, `samples` and `search` for the routes and response models of one term;
- `shared_answers` for responses shared by many viewers;
- `parameters` for windows, times and cursors; `answers` for JSON and entity tags; `columnar` for Arrow and Parquet;
- `problems` to map an error to a status and to a page for browsers, and to shorten refused records;
- `names` for pseudonyms, and for sites that hide other people's jobs; `people` for logins, tokens and the audit log; `security` for headers, hosts and sizes;
- `openapi` for the OpenAPI document and its access requirements; `site` for the built page and HEAD requests.

A new route needs a module, a line in `app`, and a regenerated docs/contracts/openapi.json.
"""
