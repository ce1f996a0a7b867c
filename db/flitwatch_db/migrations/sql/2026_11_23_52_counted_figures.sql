-- Figures of a recommendation that were counted: read from the counters in the database, handed in by nobody.
ALTER TABLE recommendation DROP CONSTRAINT recommendation_figures_check;
ALTER TABLE recommendation ADD CONSTRAINT recommendation_figures_check CHECK (figures IN ('given', 'simulated', 'counted'));
