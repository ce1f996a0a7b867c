-- How a batch's payload is stored: 0 its records as they are, 1 compressed by zstd. Rows from before are of kind 0.
ALTER TABLE log.batch ADD COLUMN encoding smallint NOT NULL DEFAULT 0 CHECK (encoding IN (0, 1));
