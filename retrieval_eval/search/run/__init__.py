"""A run: every gold query asked and scored."""
