"""From bytes of a shard to rows: one file a format."""
