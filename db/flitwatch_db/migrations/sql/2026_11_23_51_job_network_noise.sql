-- The network noise of a job that ended, from the counters of its network cards: made by a worker, once a job, and made anew when its end changes.
-- It names nobody, and goes with the job.
CREATE TABLE job_network_noise (
    job_pk             bigint PRIMARY KEY REFERENCES job ON DELETE CASCADE,
    computed_at        timestamptz NOT NULL DEFAULT now(),
    end_ts             timestamptz NOT NULL,
    fabric_id          int REFERENCES fabric ON DELETE SET NULL,
    window_s           int,
    windows            int NOT NULL,
    cards              int NOT NULL,
    cards_counted      int NOT NULL,
    latency_us         float8,
    quiet_latency_us   float8,
    latency_dispersion float8,
    waits              float8,
    quiet_waits        float8,
    waits_dispersion   float8,
    waits_unit         text,
    message_dispersion float8,
    noise_s            float8 CHECK (noise_s >= 0),
    worst_noise_s      float8 CHECK (worst_noise_s >= 0),
    counters           text[] NOT NULL,
    unknown            jsonb NOT NULL
);

GRANT SELECT ON job_network_noise TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE ON job_network_noise TO flitwatch_writer;
