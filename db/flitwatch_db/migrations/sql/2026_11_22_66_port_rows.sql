-- Rows of one port of a switch or of an adapter (InfiniBand, Omni-Path): found by GUID, LID or name, row by row.
ALTER TABLE ldms_schema DROP CONSTRAINT ldms_schema_kind_check;
ALTER TABLE ldms_schema ADD CONSTRAINT ldms_schema_kind_check CHECK (kind IN ('router', 'endpoint', 'port', 'other'));
