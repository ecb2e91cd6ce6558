"""Systems and initial states built from the options of a command."""
