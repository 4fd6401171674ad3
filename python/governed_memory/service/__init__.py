"""Serving agents: who asks comes from authentication or the host's configuration, never from what is asked (rule G8)."""
