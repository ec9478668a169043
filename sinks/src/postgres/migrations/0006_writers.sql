-- Two writers side by side, and rows that are there before their ledgers are committed.

-- Who may write: one process follows the tip of the chain, another fills what lies behind it. `epoch` grows each time a writer of the role opens
-- the database; whatever an older one of the role still sends is refused (fencing). It takes the place of starmill_network.writer_epoch, which is
-- raised here a last time, so that a program that knows nothing else is fenced off.
CREATE TABLE starmill_writers (
    role text PRIMARY KEY CHECK (role IN ('tip', 'backfill')),
    epoch bigint NOT NULL
);

INSERT INTO starmill_writers (role, epoch) VALUES ('tip', coalesce((SELECT writer_epoch FROM starmill_network), 0)), ('backfill', 0);
UPDATE starmill_network SET writer_epoch = writer_epoch + 1;

-- Ledgers whose history rows are being written ahead of their commit, which takes them out again. What is found here when a writer opens was left
-- by one that died: rows of these ledgers, closed in this span of time, are deleted. No ledger is written by two at a time.
CREATE TABLE starmill_pending (
    role text NOT NULL REFERENCES starmill_writers (role),
    lo bigint NOT NULL,
    hi bigint NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT now(),
    closed_from timestamptz NOT NULL,
    closed_to timestamptz NOT NULL,
    PRIMARY KEY (role, lo),
    CHECK (0 <= lo AND lo <= hi),
    CHECK (closed_from <= closed_to)
);

-- For readers who want nothing but whole ledgers. History above what is covered is there for moments only, and may be gone again.
-- A ledger is found through the index of ledger_coverage_disjoint.
CREATE FUNCTION ledger_is_committed(sequence bigint) RETURNS boolean LANGUAGE sql STABLE STRICT PARALLEL SAFE AS $$
    SELECT EXISTS (SELECT 1 FROM ledger_coverage c WHERE int8range(c.lo, c.hi, '[]') @> sequence)
$$;

CREATE VIEW committed_transactions AS
    SELECT * FROM transactions t WHERE EXISTS (SELECT 1 FROM ledger_coverage c WHERE t.ledger_number BETWEEN c.lo AND c.hi);
CREATE VIEW committed_operations AS
    SELECT * FROM operations t WHERE EXISTS (SELECT 1 FROM ledger_coverage c WHERE t.ledger_number BETWEEN c.lo AND c.hi);
CREATE VIEW committed_state_changes AS
    SELECT * FROM state_changes t WHERE EXISTS (SELECT 1 FROM ledger_coverage c WHERE t.ledger_number BETWEEN c.lo AND c.hi);
CREATE VIEW committed_transactions_accounts AS
    SELECT * FROM transactions_accounts t WHERE EXISTS (SELECT 1 FROM ledger_coverage c WHERE t.tx_to_id >> 32 BETWEEN c.lo AND c.hi);
CREATE VIEW committed_operations_accounts AS
    SELECT * FROM operations_accounts t WHERE EXISTS (SELECT 1 FROM ledger_coverage c WHERE t.operation_id >> 32 BETWEEN c.lo AND c.hi);
