-- Records of counters that no fabric has a place for were seen in events alone, which no page shows (ADR 1027 counts arrivals, which they are).
ALTER TABLE ingest_minute ADD COLUMN unplaced bigint NOT NULL DEFAULT 0;
