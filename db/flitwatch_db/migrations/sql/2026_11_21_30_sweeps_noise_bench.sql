-- Sweeps: a task's work cut into parts that any number of workers take. A part is free while `taken_until` is unset or past.
CREATE TABLE sweep_part (
    task_id     bigint NOT NULL REFERENCES task ON DELETE CASCADE,
    part        int NOT NULL,
    args        jsonb NOT NULL,
    taken_by    bigint,
    taken_until timestamptz,
    result      jsonb,
    PRIMARY KEY (task_id, part)
);

-- What the MPI microbenchmark measured: one row a random split of a world of processes.
CREATE TABLE noise_bench (
    noise_bench_id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    imported_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    source             text NOT NULL,
    network            text NOT NULL,
    collective         text NOT NULL,
    collective_bytes   bigint NOT NULL,
    perturbation_bytes bigint NOT NULL,
    world              int NOT NULL,
    ranks              int NOT NULL,
    perturbing         int NOT NULL,
    ratio              float8 NOT NULL,
    split              int NOT NULL,
    seed               numeric(20, 0) NOT NULL,
    late               int NOT NULL,
    perturbed_s        float8[] NOT NULL,
    quiet_s            float8[] NOT NULL,
    UNIQUE (source, network, collective, collective_bytes, perturbation_bytes, world, perturbing, split, seed)
);

GRANT SELECT ON sweep_part, noise_bench TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON sweep_part TO flitwatch_writer;
GRANT INSERT ON noise_bench TO flitwatch_writer;
