"""Reading what is in force: of a file, or of the stores that `dbt build` has attached."""
