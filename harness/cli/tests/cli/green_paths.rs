//! The table of green paths: ways in which a gate could end with 0 although the change is worse, by accident or because
//! somebody wants it to. Each row is a small repository with a change that is 30 % slower and makes one copy more. No row
//! depends on a time: the copies decide.
//!
//! A row is a test. What a row says is in [`table::Row`]; the change is made to `workers/python_gated.py`.

/// Rows, each as a test of its own.
macro_rules! rows {
    ($($(#[$note:meta])* $name:ident: $row:expr;)+) => {
        $(
            $(#[$note])*
            #[test]
            fn $name() {
                $crate::green_paths::table::Row::check($row);
            }
        )+
    };
}

mod asked;
mod base;
mod builds;
mod commits;
mod controls;
mod definitions;
mod figures;
mod head;
mod many;
mod names;
mod policy;
mod precedence;
mod settings;
mod sides;
mod table;
