"""Python interface of tablets, over the native map, and removal of tablets outdated by changes of schema or hosts."""
