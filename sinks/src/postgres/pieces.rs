//! Divides the encoded rows of a batch over connections: in the order of the tables, cut where each connection has its share of bytes, at the next
//! row. At most one cut between two connections, so that two seldom write the same table at a time.

use bytes::Bytes;

/// Rows of one table for one connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Place in `TABLES`.
    pub(crate) table: usize,
    pub(crate) bytes: Bytes,
    pub(crate) rows: u64,
}

/// Rows of a whole table.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    pub(crate) table: usize,
    pub(crate) bytes: Bytes,
    pub(crate) rows: u64,
}

/// The pieces of each connection; connections without any are left out.
pub(crate) fn divide(tables: &[Whole], connections: usize) -> Vec<Vec<Piece>> {
    let total: usize = tables.iter().map(|table| table.bytes.len()).sum();
    let share = total.div_ceil(connections.max(1)).max(1);
    let mut loads = vec![Vec::new()];
    let mut room = share;
    for table in tables {
        let (mut rest, mut rows) = (table.bytes.clone(), table.rows);
        while !rest.is_empty() {
            let (cut, count) = if room < rest.len() { row_boundary(&rest, room, rows) } else { (rest.len(), rows) };
            let bytes = rest.split_to(cut);
            rows -= count;
            room = room.saturating_sub(cut);
            if let Some(load) = loads.last_mut() {
                load.push(Piece { table: table.table, bytes, rows: count });
            }
            if room == 0 && loads.len() < connections {
                loads.push(Vec::new());
                room = share;
            } else if room == 0 {
                room = usize::MAX;
            }
        }
    }
    loads.retain(|load| !load.is_empty());
    loads
}

/// The end of the first row that ends at `at` or after it, and the rows up to there. All, where the bytes are not what they should be: Postgres then says so.
fn row_boundary(bytes: &[u8], at: usize, rows: u64) -> (usize, u64) {
    let (mut end, mut count) = (0, 0);
    while end < at {
        match row_len(&bytes[end..]) {
            Some(len) => end += len,
            None => return (bytes.len(), rows),
        }
        count += 1;
    }
    if count > rows { (bytes.len(), rows) } else { (end, count) }
}

/// Bytes of the row at the start: a field count, then fields with their lengths, of which -1 is NULL.
pub(crate) fn row_len(bytes: &[u8]) -> Option<usize> {
    let fields = i16::from_be_bytes(*bytes.first_chunk()?);
    let mut at = 2;
    for _ in 0..fields {
        let len = i32::from_be_bytes(*bytes.get(at..)?.first_chunk()?);
        at += 4 + usize::try_from(len).unwrap_or(0);
    }
    (at <= bytes.len() && fields > 0).then_some(at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A row of fields; `None` is NULL.
    fn row(fields: &[Option<usize>]) -> Vec<u8> {
        let mut row = i16::try_from(fields.len()).unwrap().to_be_bytes().to_vec();
        for field in fields {
            row.extend(field.map_or(-1, |len| i32::try_from(len).unwrap()).to_be_bytes());
            row.extend(std::iter::repeat_n(7, field.unwrap_or(0)));
        }
        row
    }

    proptest! {
        #[test]
        fn pieces_are_whole_rows_and_nothing_is_lost(
            tables in prop::collection::vec(prop::collection::vec(prop::collection::vec(prop::option::of(0..90_usize), 1..5), 0..30), 0..6),
            connections in 0..6_usize,
        ) {
            let wholes: Vec<Whole> = tables.iter().enumerate().map(|(table, rows)| Whole {
                table,
                bytes: rows.iter().flat_map(|fields| row(fields)).collect::<Vec<_>>().into(),
                rows: rows.len() as u64,
            }).collect();
            let loads = divide(&wholes, connections);
            prop_assert!(loads.len() <= connections.max(1));
            let total: usize = wholes.iter().map(|whole| whole.bytes.len()).sum();
            let longest = tables.iter().flatten().map(|fields| row(fields).len()).max().unwrap_or(0);
            for load in &loads {
                let bytes: usize = load.iter().map(|piece| piece.bytes.len()).sum();
                prop_assert!(bytes <= total.div_ceil(connections.max(1)) + longest);
            }
            for whole in &wholes {
                let pieces: Vec<_> = loads.iter().flatten().filter(|piece| piece.table == whole.table).collect();
                prop_assert_eq!(pieces.iter().flat_map(|piece| piece.bytes.to_vec()).collect::<Vec<_>>(), whole.bytes.to_vec());
                prop_assert_eq!(pieces.iter().map(|piece| piece.rows).sum::<u64>(), whole.rows);
                for piece in pieces {
                    let (mut at, mut rows) = (0, 0);
                    while at < piece.bytes.len() {
                        at += row_len(&piece.bytes[at..]).unwrap();
                        rows += 1;
                    }
                    prop_assert_eq!(rows, piece.rows);
                }
            }
        }

        #[test]
        fn anything_is_divided_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), rows in 0..5_u64, connections in 1..4_usize) {
            let whole = Whole { table: 0, bytes: bytes.clone().into(), rows };
            let joined: Vec<u8> = divide(&[whole], connections).iter().flatten().flat_map(|piece| piece.bytes.to_vec()).collect();
            prop_assert_eq!(joined, bytes);
        }
    }
}
