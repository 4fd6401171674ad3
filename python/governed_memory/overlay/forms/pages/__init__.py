"""The pages of the documents form: their grammar, read and written."""
