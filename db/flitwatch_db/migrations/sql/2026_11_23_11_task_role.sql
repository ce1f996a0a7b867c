-- The role of who asked for a task: what the task's process may use is limited by it. Null: a command or the platform itself.
ALTER TABLE task ADD COLUMN role text;
