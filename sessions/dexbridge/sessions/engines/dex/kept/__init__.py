"""What a session keeps on a Dex Server, and how it is read and written."""
