//! A target per parser of outside bytes, each a file of its name.

/// The modules, and the function of each that runs an input.
macro_rules! targets {
    ($($name:ident)*) => {
        $(mod $name;)*

        /// The target of a name, if there is one.
        pub(crate) fn find(name: &str) -> Option<fn(&[u8])> {
            match name {
                $(stringify!($name) => Some($name::run),)*
                _ => None,
            }
        }
    };
}

targets! {
    assemble
    bits_and_blooms_decode
    bloomfileter_decode
    dcso_decode
    guava_decode
    header_decode
    kept_digests
    keys
    kind_decode
    list
    magnuss_decode
    native_decode
    number
    packed_decode
    parquet_decode
    python_decode
    redis
    redisbloom_decode
    redisson_decode
    resp
    server_command
    server_config
    server_log
    short_decode
    spark_decode
}
