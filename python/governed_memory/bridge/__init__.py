"""The bridge from a packet into a frozen model, with the controls that tell what moved it (rule M12). Needs the `adapter` extra when it runs."""
