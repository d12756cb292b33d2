"""How processes on one database wake one another: notices, how they are heard, and legs that are taken up by them."""
