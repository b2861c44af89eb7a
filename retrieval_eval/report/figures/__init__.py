"""One module per figure; each ``draw`` takes plain numbers and returns a Figure or Empty record."""
