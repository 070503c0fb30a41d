"""L0: constants, errors, names and values. Imports nothing else of the driver."""
