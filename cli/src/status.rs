//! `starmill status`: coverage, gaps, rows and sizes.
