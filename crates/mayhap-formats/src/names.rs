//! Enums whose values have names.

/// Declares an enum whose values have names; `ALL` has all values, `name` the name of each.
macro_rules! named {
    (
        $(#[$meta:meta])*
        pub enum $Enum:ident { $($(#[$doc:meta])* $Value:ident = $name:literal,)* }
    ) => {
        $(#[$meta])*
        pub enum $Enum {
            $($(#[$doc])* $Value,)*
        }

        impl $Enum {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$Value,)*];

            /// The name, as the command line takes it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$Value => $name,)*
                }
            }
        }
    };
}
pub(crate) use named;
