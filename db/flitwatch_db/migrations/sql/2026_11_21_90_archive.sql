-- Users whose data was deleted on request: a salted digest each, so that a restored archive does not bring them back and no name is kept.
CREATE TABLE erased_user (
    salt      text PRIMARY KEY,
    digest    text NOT NULL,
    erased_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Jobs that came from an archive: kept from then on as long as new ones are.
CREATE TABLE restored_job (
    job_pk      bigint PRIMARY KEY REFERENCES job ON DELETE CASCADE,
    restored_at timestamptz NOT NULL DEFAULT now()
);

GRANT SELECT ON restored_job TO flitwatch_reader, flitwatch_writer;
