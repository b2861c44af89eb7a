"""Gold sets: their files, their sources, and their review by people."""
