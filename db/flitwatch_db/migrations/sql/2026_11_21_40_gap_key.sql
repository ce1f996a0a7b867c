-- A gap is taken back when a late sample fills it, and prolonged while its instance stays silent.
CREATE INDEX gap_from ON gap (from_ts, device);
