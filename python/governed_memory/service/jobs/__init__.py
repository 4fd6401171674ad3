"""Jobs: work that is asked for now and done later, once, by a process that may be killed at any moment (rule M13)."""
