//! Everything that stands in the tables of a database, one checksum a table: two databases with the same sums hold the same rows.
//!
//! Tables and columns come from the catalog, so that one that is added later is compared too. Left out is only what must differ from run to run.

use std::collections::BTreeMap;

use super::Database;

/// Columns that are not compared, and why. `*` is every table.
const LEFT_OUT: [(&str, &str, &str); 6] = [
    ("*", "ingested_at", "the time of writing"),
    ("*", "created_at", "the time of writing"),
    ("*", "updated_at", "the time of writing"),
    ("starmill_migrations", "applied_at", "the time of writing"),
    ("starmill_pending", "opened_at", "the time of writing"),
    ("starmill_writers", "epoch", "grows with each writer that opens the database; one that died and came again is two"),
];

/// The number of rows and a checksum of all of them, table by table; the names of all partitions; and what the text cursors say is in `ingest_store`.
pub fn sums(database: &Database) -> BTreeMap<String, String> {
    let left_out: Vec<String> = LEFT_OUT.iter().map(|(table, column, _)| format!("('{table}', '{column}')")).collect();
    let left_out = left_out.join(", ");
    // A row's own checksum stands for its place in the order, which the key would give.
    let sql = format!(
        "CREATE TEMP TABLE sums (name text, sum text); \
         DO $$ DECLARE t record; s text; BEGIN \
           FOR t IN SELECT c.oid::regclass::text AS name, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attname) AS columns \
             FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid \
             WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition \
               AND a.attnum > 0 AND NOT a.attisdropped \
               AND NOT EXISTS (SELECT 1 FROM (VALUES {left_out}) o (t, c) WHERE o.t IN ('*', relname) AND o.c = attname) \
             GROUP BY c.oid \
           LOOP \
             EXECUTE format('SELECT count(*) || '' rows '' || coalesce(md5(string_agg(h, '''' ORDER BY h COLLATE \"C\")), ''-'') \
               FROM (SELECT md5(ROW(%s)::text) AS h FROM %s) r', t.columns, t.name) INTO s; \
             INSERT INTO sums VALUES (t.name, s); \
           END LOOP; \
         END $$; \
         SELECT name, sum FROM sums UNION ALL \
         SELECT 'partitions', coalesce(string_agg(relname, ' ' ORDER BY relname), '-') FROM pg_class \
         WHERE relnamespace = 'public'::regnamespace AND relispartition AND relkind IN ('r', 'p')"
    );
    let out = database.sql(&sql);
    let sums: BTreeMap<String, String> = out.lines().filter_map(|line| line.split_once('|')).map(|(a, b)| (a.into(), b.into())).collect();
    assert!(sums.len() > 20 && sums["transactions"].contains("rows"), "{out}");
    sums
}

/// The tables must be those of an undisturbed run.
pub fn assert_same(found: &BTreeMap<String, String>, undisturbed: &BTreeMap<String, String>, what: &str) {
    let names: std::collections::BTreeSet<_> = found.keys().chain(undisturbed.keys()).collect();
    let different = |name: &&&String| found.get(**name) != undisturbed.get(**name);
    let told: Vec<String> = names
        .iter()
        .filter(different)
        .map(|name| format!("{name}: {:?}, undisturbed {:?}", found.get(*name), undisturbed.get(*name)))
        .collect();
    assert!(told.is_empty(), "{what}\n{}", told.join("\n"));
}
