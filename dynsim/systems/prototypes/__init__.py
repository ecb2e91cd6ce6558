"""Flows and maps of prototypes that compete for embeddings, with a frozen encoder or together with it."""
