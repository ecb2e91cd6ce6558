"""The sentiment classifier of HARDMAX for film reviews, with hardmax layers, and the reviews' preprocessing."""
