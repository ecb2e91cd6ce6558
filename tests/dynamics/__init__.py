"""The workbench: measures and searches that work for any system."""
