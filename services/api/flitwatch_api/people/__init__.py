"""Callers: who they are, what they may do, and what they did.

What happens, in order: `browsers` reads cookies and address, `callers` makes a caller of a session, a token or no one, `buckets` limits how much it
may ask, `access` compares it with what the route needs, and `trail` writes what it changed or whose names it saw.

Open

- `access` to declare what a route needs; `callers` for sessions, tokens and limits; `caller_lookup` for asking the database about many at once;
- `http` and `schemas` for the routes of accounts, tokens and the audit log;
- `login_limiter` for guessed passwords; `buckets` for rates;
- `oidc` for the site's OpenID Connect provider, `sign_on` for the routes that a browser follows there, `roles` for roles by claim and group;
- `directory` for the site's LDAP directory, which checks passwords that no local account has;
- `cookie_signer` for signed cookies; `visits` for callers without a login;
- `job_privacy` for sites that hide other people's jobs; `trail` for the audit log, `anonymous_trail` for counted events only.

Roles, scopes and the password policy are `flitwatch_domain.access`; the tables are `flitwatch_db.people`.
"""
