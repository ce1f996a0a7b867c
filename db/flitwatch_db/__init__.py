"""Tables, migrations and queries: the only package that speaks SQL about Flitwatch's data."""
