-- Counts per second of the network cards of a run's nodes during a step, in the order of endpoint_1s' columns; kept because seconds are not. Fabrics whose
-- routers have no counters of their own (InfiniBand, Slingshot, Ethernet) have these.
CREATE TABLE run_step_nic (
    run_id  bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    step    int NOT NULL,
    rates   float8[],
    PRIMARY KEY (run_id, step)
);

GRANT SELECT ON run_step_nic TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON run_step_nic TO flitwatch_writer;
