"""The growing system: heads with prototype banks and temperatures, added and removed by residual attention."""
