-- Who may change what the site relies on: noted when a task is started, because the worker cannot ask any more.
ALTER TABLE task ADD COLUMN authorised boolean NOT NULL DEFAULT false;

-- A recommendation keeps its author, whether they might make one for the site (or it is a what-if of their own), and where its figures come from.
-- Of the rows that are there already nobody knows: they count as what-ifs.
ALTER TABLE recommendation
    ADD COLUMN created_by text,
    ADD COLUMN authorised boolean NOT NULL DEFAULT false,
    ADD COLUMN figures    text NOT NULL DEFAULT 'given' CHECK (figures IN ('given', 'simulated'));
UPDATE recommendation SET figures = 'simulated' WHERE simulated;
UPDATE recommendation r SET created_by = t.created_by FROM task t WHERE t.task_id = r.task_id;
CREATE INDEX recommendation_author ON recommendation (created_by);

-- `routing.advice` writes two rows: both name their task, and a repeated task replaces both.
DROP INDEX recommendation_task;
CREATE UNIQUE INDEX recommendation_task ON recommendation (task_id, kind) WHERE task_id IS NOT NULL;
