"""Hot links, the jobs that use them, and the links that a job uses."""
