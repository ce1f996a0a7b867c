"""What every room of the database stands on: connections, service logins, COPY packing, additive sums, events, retention."""
