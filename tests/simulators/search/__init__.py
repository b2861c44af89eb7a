"""A small search collection with planted facts: documents, queries, judgements, and feedback."""
