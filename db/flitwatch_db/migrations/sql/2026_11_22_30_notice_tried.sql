-- When a receiver was last tried: who may not read why it failed may read when.
ALTER TABLE alert_notice ADD COLUMN tried_at timestamptz;
