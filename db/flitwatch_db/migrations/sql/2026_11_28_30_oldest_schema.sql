-- expansion
-- What a migration leaves of older versions: the oldest schema, by the name of its newest migration, whose versions go on beside it (ADR 1520). NULL: none.
ALTER TABLE migration ADD COLUMN oldest text;
