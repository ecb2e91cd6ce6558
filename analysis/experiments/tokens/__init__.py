"""Experiments on tokens that go beyond one paper."""
