"""A check on other people's models: which way a restricted value goes, read from the SQL that dbt compiled."""
