-- expansion
-- On a fat tree a job may wait on its way to the file system: that way is watched then, and `quiet` is of it.
ALTER TABLE incident ADD COLUMN to_file_system boolean NOT NULL DEFAULT false;
