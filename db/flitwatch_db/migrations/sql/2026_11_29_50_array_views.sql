-- expansion

-- Rows of waiting array tasks together, such as 77_[4-5], are found by their array.
CREATE INDEX job_by_array ON job (cluster, split_part(job_id, '_', 1)) WHERE strpos(job_id, '[') > 0;
