"""Flows and maps of prototypes that compete for embeddings, with a frozen or a trained encoder."""
