"""How a sum over tokens is weighted and computed."""
