"""What only the host may say, and what it signs with (rules G8 and G9)."""
