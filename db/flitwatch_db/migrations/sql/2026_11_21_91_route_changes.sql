-- When a fabric got other routes: marks on the time axis. `tables` (gzip: two int32 of their shape, int16[routers][endpoints], -1: no entry) are kept to tell how many entries the next ones change.
CREATE TABLE route_change (
    fabric_id int NOT NULL REFERENCES fabric ON DELETE CASCADE,
    ts        timestamptz NOT NULL,
    note      text,
    entries   int,
    changed   int,
    source    text,
    tables    bytea,
    PRIMARY KEY (fabric_id, ts),
    CHECK (note IS NOT NULL OR entries IS NOT NULL)
);

GRANT SELECT ON route_change TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON route_change TO flitwatch_writer;
