//! `BF.SCANDUMP`, `BF.LOADCHUNK`: filters move.
