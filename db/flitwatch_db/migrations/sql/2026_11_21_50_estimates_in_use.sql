-- What the pages read of estimates: every blamed name with its exposure, the model that serves, why there is none, forecasts of running jobs.
ALTER TABLE estimate RENAME COLUMN ranks TO nodes;
CREATE TABLE estimate_entry (
    estimate_id bigint NOT NULL REFERENCES estimate ON DELETE CASCADE,
    by_what     text NOT NULL CHECK (by_what IN ('user', 'application')),
    place       int NOT NULL,
    name        text NOT NULL,
    entry       jsonb NOT NULL,
    overlap     float8[] NOT NULL,
    exposure    float8[] NOT NULL,
    PRIMARY KEY (estimate_id, by_what, place)
);

-- The forecasters that serve: one for each number of past steps `m` that they take.
CREATE TABLE estimate_model (
    estimate_id bigint NOT NULL REFERENCES estimate ON DELETE CASCADE,
    m           int NOT NULL,
    model       bytea NOT NULL,
    PRIMARY KEY (estimate_id, m)
);

-- Increments of each step summed over the ranks that report, so that nobody sums a hundred ranks again.
ALTER TABLE run_step ADD COLUMN counter_sums float8[];

-- Counts per second on other routers during a step, kept because the counters by the second are not: table II's four of LDMS.
CREATE TABLE run_step_around (
    run_id   bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    step     int NOT NULL,
    own      float8[],
    io       float8[],
    sys      float8[],
    PRIMARY KEY (run_id, step)
);

-- How each application stands: the newest estimate, or what is lacking for one.
CREATE TABLE estimate_state (
    kind        text NOT NULL CHECK (kind IN ('blame', 'deviation', 'forecast')),
    exe         text NOT NULL,
    nodes       int NOT NULL,
    checked_at  timestamptz NOT NULL DEFAULT now(),
    runs        int NOT NULL,
    newest_run  bigint NOT NULL,
    estimate_id bigint REFERENCES estimate ON DELETE SET NULL,
    lacks       text,
    drift       jsonb,
    PRIMARY KEY (kind, exe, nodes)
);

-- One row a forecast: made after so many steps of a run, for the next `ahead` steps.
CREATE TABLE forecast (
    run_id      bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    after_steps int NOT NULL,
    ahead       int NOT NULL,
    made_at     timestamptz NOT NULL DEFAULT now(),
    estimate_id bigint REFERENCES estimate ON DELETE SET NULL,
    forecaster  text NOT NULL,
    expected_s  float8 NOT NULL,
    low_s       float8 NOT NULL,
    high_s      float8 NOT NULL,
    usual_s     float8 NOT NULL,
    curve_s     float8[] NOT NULL,
    PRIMARY KEY (run_id, after_steps)
);
CREATE INDEX forecast_newest ON forecast (made_at DESC);

-- Pseudonyms are keyed hashes; the key is the site's own.
INSERT INTO setting (key, value)
VALUES ('pseudonym_key', to_jsonb(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')))
ON CONFLICT (key) DO NOTHING;

GRANT SELECT ON estimate_entry, estimate_model, estimate_state, forecast, run_step_around TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, DELETE ON estimate, estimate_entry, estimate_model TO flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON estimate_state, forecast, run_step_around TO flitwatch_writer;
