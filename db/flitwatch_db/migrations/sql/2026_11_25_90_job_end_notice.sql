-- That a job ended, told to the site's webhook: a row a job until it is taken, or a day has passed.
-- It names nobody: what names people is read from the job when the notice is sent.
CREATE TABLE job_end_notice (
    job_pk       bigint PRIMARY KEY REFERENCES job ON DELETE CASCADE,
    explanation  jsonb NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    attempts     int NOT NULL DEFAULT 0,
    delivered_at timestamptz,
    error        text
);
CREATE INDEX job_end_notice_due ON job_end_notice (due_at) WHERE delivered_at IS NULL;

GRANT SELECT ON job_end_notice TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON job_end_notice TO flitwatch_writer;
