-- Partitions of history that a backfill loads without indexes, where nobody sees them, and attaches when they are whole.

-- Each has a table starmill_bulk_<table>_p<first day> for every table of history. What is found here when a writer opens and is not its own was left
-- by one that died: the tables are dropped. `epoch` is that of the writer.
CREATE TABLE starmill_bulk (
    first_day integer PRIMARY KEY, -- counted from 1970-01-01
    epoch bigint NOT NULL,
    opened_at timestamptz NOT NULL DEFAULT now()
);

-- The ledgers whose rows are in those tables, written in one transaction with them. They are not covered, and nobody else may write them.
CREATE TABLE starmill_bulk_ledgers (
    lo bigint PRIMARY KEY,
    hi bigint NOT NULL,
    first_day integer NOT NULL REFERENCES starmill_bulk (first_day) ON DELETE CASCADE,
    closed_from timestamptz NOT NULL,
    closed_to timestamptz NOT NULL,
    CHECK (0 <= lo AND lo <= hi),
    CHECK (closed_from <= closed_to)
);
