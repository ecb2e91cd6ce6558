"""Build systems and initial states from the options of a command."""
