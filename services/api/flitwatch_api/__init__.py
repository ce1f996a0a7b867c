"""The API and the page: REST, server-sent events and static files over one database.

A folder a domain word: `http.py` holds the routes, `schemas.py` the shapes of answers, other modules the work between. The application is made
by `flitwatch_api.app.create_app`; what it needs from outside is in `flitwatch_api.settings.Settings`.
"""
