-- The rates of a run's network cards are archived with its other steps.
GRANT SELECT ON run_step_nic TO flitwatch_keeper;
