"""What `gmem transpile` can be asked; apart from the rest, so that other commands of this room start without sqlglot."""

# {name on the command line: (model, the table it reads: the caller's twelve columns, or the built intervals)}
READS = {"as-of": ("records_as_of", "own"), "intervals": ("record_intervals", "own"), "as-of-built": ("records_as_of", "built")}
# What somebody may know of a store that spares a dialect a part that it lacks.
ASSUMPTIONS = {
    "no-cycles": "no supersessions form a circle (gmem check: supersession_cycle)",
    "ids-in-nfc": "every record_id is in Unicode form NFC",
}
