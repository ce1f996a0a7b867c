CREATE TABLE job (
    job_pk      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cluster     text NOT NULL,
    job_id      text NOT NULL,
    array_task  int,
    het_offset  int,
    restart     int NOT NULL DEFAULT 0,
    user_name   text,
    account     text,
    name        text,
    partition   text,
    state       text NOT NULL,
    exit_code   text,
    submit_ts   timestamptz,
    start_ts    timestamptz,
    end_ts      timestamptz,
    nodes       int,
    node_list   text,
    simulated   boolean NOT NULL DEFAULT false,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    UNIQUE (cluster, job_id, restart)
);
CREATE INDEX job_by_start ON job (start_ts DESC, job_pk DESC);
CREATE INDEX job_by_user ON job (user_name, start_ts DESC);
CREATE INDEX job_by_id ON job (job_id);
CREATE INDEX job_running ON job (job_pk) WHERE end_ts IS NULL;

CREATE TABLE job_node (
    job_pk    bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    node      text NOT NULL,
    fabric_id int,
    endpoint  int,
    router    int,
    PRIMARY KEY (job_pk, node)
);
CREATE INDEX job_node_router ON job_node (fabric_id, router);
CREATE INDEX job_node_node ON job_node (node);

CREATE TABLE job_step (
    job_pk    bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    step      text NOT NULL,
    name      text,
    state     text,
    start_ts  timestamptz,
    end_ts    timestamptz,
    nodes     int,
    node_list text,
    PRIMARY KEY (job_pk, step)
);

CREATE TABLE run (
    run_id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run_key       text NOT NULL UNIQUE,
    job_pk        bigint REFERENCES job ON DELETE SET NULL,
    job_id        text,
    exe           text NOT NULL,
    start_ts      timestamptz,
    ranks         int NOT NULL,
    counter_names text[] NOT NULL DEFAULT '{}',
    simulated     boolean NOT NULL DEFAULT false
);
CREATE INDEX run_job ON run (job_pk);
CREATE INDEX run_job_id ON run (job_id);
CREATE INDEX run_exe ON run (exe, ranks);

CREATE TABLE run_rank (
    run_id    bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    rank      int NOT NULL,
    node      text,
    endpoint  int,
    PRIMARY KEY (run_id, rank)
);
CREATE INDEX run_rank_node ON run_rank (node);

CREATE TABLE run_step (
    run_id       bigint NOT NULL REFERENCES run ON DELETE CASCADE,
    step         int NOT NULL,
    time_s       float8 NOT NULL,
    rank_time_ns bigint[] NOT NULL,
    counters     numeric[],
    PRIMARY KEY (run_id, step)
);

GRANT SELECT ON job, job_node, job_step, run, run_rank, run_step TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE ON job, job_node, job_step, run, run_rank, run_step TO flitwatch_writer;
GRANT DELETE ON job_node, job_step, run_rank TO flitwatch_writer;
