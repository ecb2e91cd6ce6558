"""Tests of the theorems for any system."""
