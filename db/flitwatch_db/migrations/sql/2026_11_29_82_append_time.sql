-- expansion
-- When a batch was appended, from which follows how old the oldest record is that no writer has written. Batches of before count from now.
ALTER TABLE log.batch ADD COLUMN appended_at timestamptz NOT NULL DEFAULT now();
