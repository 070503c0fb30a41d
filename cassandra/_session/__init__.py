"""L5: requests over the cluster: statements, futures, results, session, cluster, control connection."""
