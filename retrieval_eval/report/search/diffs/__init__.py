"""The report on the difference of two search runs: single queries first, then means."""
