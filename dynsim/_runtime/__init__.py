"""Processes, interrupts and progress bars of long runs."""
