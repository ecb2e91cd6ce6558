"""Pages to explore a system in a browser: phase plane, time series and diagrams that follow sliders."""
