-- Where the tables of a recommendation were staged for a subnet manager, and whether that was taken back. Who approved it is in the audit log.
ALTER TABLE recommendation
    ADD COLUMN staged_in      text,
    ADD COLUMN staged_at      timestamptz,
    ADD COLUMN rolled_back_at timestamptz;
