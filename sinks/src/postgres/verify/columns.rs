//! What is compared of a table: its columns, without those that say when a row was written, and its key.

use tokio_postgres::Client;

use super::super::PostgresError;
use super::super::error::During as _;

/// Columns of the run, not of the ledger.
const OF_THE_RUN: [&str; 3] = ["ingested_at", "created_at", "updated_at"];

/// A table as the catalog has it.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) name: String,
    /// The columns to compare, quoted, parted by commas.
    pub(super) columns: String,
    /// The columns of the primary key, quoted.
    pub(super) key: Vec<String>,
    /// Whether rows say which ledger changed them last.
    pub(super) has_last_modified: bool,
}

impl Table {
    pub(super) async fn of(client: &Client, name: &str) -> Result<Self, PostgresError> {
        let asking = || format!("reading the columns of {name}");
        let sql = "SELECT quote_ident(a.attname), a.attname::text, EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisprimary \
                   AND a.attnum = ANY (i.indkey::int2[])) FROM pg_attribute a WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 \
                   AND NOT a.attisdropped ORDER BY a.attnum";
        let mut table = Self { name: name.to_owned(), columns: String::new(), key: Vec::new(), has_last_modified: false };
        let mut columns = Vec::new();
        for row in client.query(sql, &[&name]).await.during(asking)? {
            let (quoted, plain, is_key): (String, String, bool) =
                (row.try_get(0).during(asking)?, row.try_get(1).during(asking)?, row.try_get(2).during(asking)?);
            table.has_last_modified |= plain == "last_modified_ledger";
            if is_key {
                table.key.push(quoted.clone());
            }
            if !OF_THE_RUN.contains(&plain.as_str()) {
                columns.push(quoted);
            }
        }
        table.columns = columns.join(", ");
        Ok(table)
    }

    /// The key of two tables is the same.
    pub(super) fn same_key(&self, one: &str, other: &str) -> String {
        self.key.iter().map(|column| format!("{one}.{column} = {other}.{column}")).collect::<Vec<_>>().join(" AND ")
    }
}
