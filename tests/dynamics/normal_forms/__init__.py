"""Normal forms."""
