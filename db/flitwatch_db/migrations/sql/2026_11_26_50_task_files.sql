-- Files that a task reads: uploaded before it starts, gone when it ends, however it ends. `bytes` is null while one is still coming.
CREATE TABLE task_file (
    file_id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    bytes      bigint,
    task_id    bigint REFERENCES task ON DELETE CASCADE
);
CREATE INDEX task_file_author ON task_file (created_by);
CREATE INDEX task_file_task ON task_file (task_id) WHERE task_id IS NOT NULL;

-- The content in pieces, so that neither side ever holds a whole file.
CREATE TABLE task_file_piece (
    file_id bigint NOT NULL REFERENCES task_file ON DELETE CASCADE,
    piece   int NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (file_id, piece)
);
-- Mostly compressed already, and read once.
ALTER TABLE task_file_piece ALTER COLUMN content SET STORAGE EXTERNAL;

-- Whoever ends a task: its handler, a worker that gives up, a person who cancels it.
CREATE FUNCTION drop_files_of_task() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = flitwatch, pg_temp AS $$
BEGIN
    DELETE FROM task_file WHERE task_id = NEW.task_id;
    RETURN NULL;
END $$;
CREATE TRIGGER task_ended AFTER UPDATE OF state ON task FOR EACH ROW
    WHEN (NEW.state IN ('succeeded', 'failed', 'cancelled')) EXECUTE FUNCTION drop_files_of_task();

REVOKE ALL ON FUNCTION drop_files_of_task() FROM PUBLIC;

-- Nobody reads them but who runs tasks: a file holds names as somebody wrote them.
GRANT SELECT, INSERT, DELETE ON task_file, task_file_piece TO flitwatch_writer;
GRANT UPDATE (task_id, bytes) ON task_file TO flitwatch_writer;
GRANT SELECT, DELETE ON task_file TO flitwatch_keeper;

-- Estimates of runs that somebody brought in files, and who did; the others are of runs that the platform recorded.
ALTER TABLE estimate ADD COLUMN source text NOT NULL DEFAULT 'runs' CHECK (source IN ('runs', 'files')), ADD COLUMN created_by text;
