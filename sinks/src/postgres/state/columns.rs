//! Rows column by column, each column ready to be sent as one array in Postgres' binary format.

use bytes::{BufMut as _, BytesMut};
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

/// The widest table.
const COLUMNS_MAX: usize = 8;

/// Elements of arrays: lengths and values, as fields of COPY. Columns that a table does not have stay empty.
#[derive(Debug, Default)]
pub(crate) struct Columns {
    rows: usize,
    columns: [Vec<u8>; COLUMNS_MAX],
}

impl Columns {
    /// Begins a row: one element is to be added to each column that the table has.
    pub(crate) fn row(&mut self) -> &mut [Vec<u8>; COLUMNS_MAX] {
        self.rows += 1;
        &mut self.columns
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of the elements.
    pub(crate) fn bytes(&self) -> usize {
        self.columns.iter().map(Vec::len).sum()
    }

    /// Forgets the rows, keeps the buffers.
    pub(crate) fn clear(&mut self) {
        self.rows = 0;
        self.columns.iter_mut().for_each(Vec::clear);
    }

    /// The columns as parameters of a statement.
    pub(crate) fn arrays(&self) -> [Array<'_>; COLUMNS_MAX] {
        self.columns.each_ref().map(|elements| Array { rows: self.rows, elements })
    }
}

/// One column.
#[derive(Debug)]
pub(crate) struct Array<'c> {
    rows: usize,
    elements: &'c [u8],
}

impl ToSql for Array<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Kind::Array(element) = ty.kind() else { return Err(format!("{ty} is no array").into()) };
        // One dimension, perhaps with NULLs, of this type; its length and the number of its first element.
        out.put_i32(1);
        out.put_i32(1);
        out.put_u32(element.oid());
        out.put_i32(i32::try_from(self.rows)?);
        out.put_i32(1);
        out.put_slice(self.elements);
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        matches!(ty.kind(), Kind::Array(_))
    }

    to_sql_checked!();
}
