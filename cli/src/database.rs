//! Which database, and starmill's own Postgres: `starmill db`, and how `run` and `status` reach it.
