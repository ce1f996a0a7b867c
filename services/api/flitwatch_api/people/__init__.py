"""Callers: identity, rights, and audit.

`login_limiter` reads cookies and address, and limits requests. `callers` identifies a caller from a session or token, or as anonymous, and
`access` checks the route's requirements. `trail` records changes and visible names.

Modules:

- `access` to declare a route's requirements; `callers` for sessions, tokens, limits, and batched database lookups;
- `http` and `schemas` for the routes of accounts, tokens and the audit log;
- `login_limiter` for browsers' cookies, against password guessing, and for rate limits;
- `oidc` for the site's OpenID Connect provider, `sign_on` for its browser routes, `roles` for roles by claim and group;
- `directory` for the site's LDAP directory, which checks passwords of users without a local one;
- `visits` for callers without a login, and signed cookies;
- `trail` for the audit log, and for events that are only counted.

Roles, scopes and the password policy are in `flitwatch_domain.access`; the tables are in `flitwatch_db.people`.
"""
