"""Which Workers live, and what each does beside running Steps."""
