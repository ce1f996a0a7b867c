-- expansion
-- An incident is a row for good: what was found while it happened is read afterwards, not computed again.
CREATE TABLE incident (
    incident_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fabric_id   int NOT NULL REFERENCES fabric ON DELETE CASCADE,
    simulated   boolean NOT NULL,
    began_at    timestamptz NOT NULL,
    ended_at    timestamptz,
    -- The first job that it slowed: its way is watched for as long as the incident lasts, and `quiet` is the waiting there in a quiet minute.
    probe_pk    bigint REFERENCES job ON DELETE SET NULL,
    quiet       float8,
    -- Two incidents that turn out to be one: the later one's number still leads there.
    merged_into bigint REFERENCES incident ON DELETE CASCADE
);
CREATE INDEX incident_by_fabric ON incident (fabric_id, began_at DESC);
CREATE INDEX incident_open ON incident (fabric_id) WHERE ended_at IS NULL AND merged_into IS NULL;

-- `finding` is the job's explanation when it was last looked at, without names of people: `final` once its whole run was looked at.
CREATE TABLE incident_victim (
    incident_id bigint NOT NULL REFERENCES incident ON DELETE CASCADE,
    job_pk      bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    since_at    timestamptz NOT NULL,
    until_at    timestamptz,
    lost_s      float8 NOT NULL,
    lost_low_s  float8 NOT NULL,
    lost_high_s float8 NOT NULL,
    final       boolean NOT NULL,
    finding     jsonb NOT NULL,
    PRIMARY KEY (incident_id, job_pk)
);
CREATE INDEX incident_victim_job ON incident_victim (job_pk);

CREATE TABLE incident_part (
    incident_id bigint NOT NULL,
    job_pk      bigint NOT NULL,
    cause_pk    bigint NOT NULL REFERENCES job ON DELETE CASCADE,
    part        float8,
    PRIMARY KEY (incident_id, job_pk, cause_pk),
    FOREIGN KEY (incident_id, job_pk) REFERENCES incident_victim ON DELETE CASCADE
);
CREATE INDEX incident_part_cause ON incident_part (cause_pk);

CREATE TABLE incident_minute (
    incident_id bigint NOT NULL REFERENCES incident ON DELETE CASCADE,
    at          timestamptz NOT NULL,
    waiting     float8 NOT NULL,
    part        float8,
    PRIMARY KEY (incident_id, at)
);

CREATE TABLE incident_note (
    note_id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    incident_id bigint NOT NULL REFERENCES incident ON DELETE CASCADE,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    author      text NOT NULL,
    text        text NOT NULL
);
CREATE INDEX incident_note_of ON incident_note (incident_id);

-- Jobs with steps whose whole run was looked at.
CREATE TABLE incident_judged (
    job_pk    bigint PRIMARY KEY REFERENCES job ON DELETE CASCADE,
    judged_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

GRANT SELECT ON incident, incident_victim, incident_part, incident_minute, incident_note, incident_judged TO flitwatch_reader, flitwatch_writer;
GRANT INSERT, UPDATE, DELETE ON incident, incident_victim, incident_part, incident_minute, incident_note, incident_judged TO flitwatch_writer;
