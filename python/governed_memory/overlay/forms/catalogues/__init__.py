"""The three dialects of the catalogue form."""
