"""The six forms a store may have: each module reads one (`read(path) -> FormStore`) and writes it (`write(store, path)`)."""
