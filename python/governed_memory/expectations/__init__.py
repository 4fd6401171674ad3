"""The rules as Great Expectations suites: GX runs and shows them, the findings decide (rule L4)."""
