-- What starmill itself needs to write each ledger exactly once.

-- One row: which network this database holds, how wide its partitions are, and who may write.
-- `writer_epoch` grows each time a writer opens the database; a commit with an older epoch is refused (fencing).
CREATE TABLE starmill_network (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    passphrase text NOT NULL,
    network_id bytea NOT NULL CHECK (octet_length(network_id) = 32),
    partition_days integer NOT NULL CHECK (partition_days > 0),
    writer_epoch bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- The ledgers whose rows are durable, as closed ranges. The exclusion constraint makes an overlap impossible, and its index finds the
-- range of a ledger.
CREATE TABLE ledger_coverage (
    lo bigint PRIMARY KEY,
    hi bigint NOT NULL,
    CHECK (0 <= lo AND lo <= hi),
    CONSTRAINT ledger_coverage_disjoint EXCLUDE USING gist (int8range(lo, hi, '[]') WITH &&)
);

-- Text cursors that readers of this schema look for: `oldest_ingest_ledger` and `latest_ingest_ledger` are the ends of the highest range of
-- `ledger_coverage`, so that what lies between them is whole.
CREATE TABLE ingest_store (
    key varchar(255) PRIMARY KEY,
    value varchar(255) NOT NULL
);
