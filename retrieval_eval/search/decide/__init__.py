"""Whether a change is more than noise, and whether it may be merged."""
