-- What is sent as one message stays one message, under one key, until the receiver took it.
ALTER TABLE alert_notice ADD COLUMN batch text;
CREATE INDEX alert_notice_batch ON alert_notice (batch) WHERE delivered_at IS NULL;
