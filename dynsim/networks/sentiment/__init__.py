"""The sentiment classifier of film reviews with hardmax layers, and the text that it reads."""
