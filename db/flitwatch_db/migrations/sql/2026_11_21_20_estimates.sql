-- What estimators found: one row a result, with its data, parameters, code version and score.
CREATE TABLE estimate (
    estimate_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind         text NOT NULL CHECK (kind IN ('blame', 'deviation', 'forecast')),
    exe          text NOT NULL,
    ranks        int NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    code_version text NOT NULL,
    parameters   jsonb NOT NULL,
    data         jsonb NOT NULL,
    score        jsonb NOT NULL,
    result       jsonb NOT NULL,
    simulated    boolean NOT NULL
);
CREATE INDEX estimate_newest ON estimate (kind, exe, ranks, created_at DESC);

GRANT SELECT ON estimate TO flitwatch_reader, flitwatch_writer;
GRANT INSERT ON estimate TO flitwatch_writer;
