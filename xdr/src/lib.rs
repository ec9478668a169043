//! Bounded zero-copy XDR for Stellar.

use bumpalo as _;
use thiserror as _;
