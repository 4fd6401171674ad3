"""What a steward looks at: one page about every attached store."""
