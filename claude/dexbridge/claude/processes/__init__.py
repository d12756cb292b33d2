"""The CLI's processes: how many, where they write, which of them wait."""
