"""The life of labels: gold sets, where they come from, and how people review them."""
