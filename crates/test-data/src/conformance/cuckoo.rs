//! `CF.*`.

use super::case::{Case, both, each};

const NOT_FOUND: &str = "-ERR not found";
const EXISTS: &str = "-ERR item exists";
const CAPACITY: &str = "-Capacity must be in the range [2 * BUCKETSIZE, 9223372036854775807]";
const BUCKET_SIZE: &str = "-BUCKETSIZE: value must be in the range [1, 255]";
const ITERATIONS: &str = "-MAXITERATIONS: value must be in the range [1, 65535]";
const EXPANSION: &str = "-EXPANSION: value must be in the range [0, 32768]";
const ERROR: &str = "-ERROR: value must be in the range (0.000000, 1.000000)";
const EIGHT: [&str; 2] = ["*8|:1|:1|:1|:1|:1|:1|:1|:1", "*8|#t|#t|#t|#t|#t|#t|#t|#t"];
const WRONG_TYPE: &str =
    "-WRONGTYPE Operation against a key holding the wrong kind of value: this filter is ...";

/// `CF.RESERVE`.
pub(super) const RESERVE: &[Case] = &[
    both("CF.RESERVE f 1000", "+OK"),
    both("CF.RESERVE f 1000", EXISTS),
    both("BF.RESERVE f 0.01 1000", EXISTS),
    both("cf.reserve least 4", "+OK"),
    both("cf.reserve one 2 bucketsize 1", "+OK"),
    both("CF.RESERVE all 1000 BUCKETSIZE 8 MAXITERATIONS 20 EXPANSION 2 ERROR 0.0001", "+OK"),
    both("CF.RESERVE any 1000 ERROR 1e-6 EXPANSION 0 MAXITERATIONS 65535 BUCKETSIZE 255", "+OK"),
    both("CF.RESERVE twice 1000 EXPANSION 0 EXPANSION 32768", "+OK"),
    both("BF.RESERVE bloom 0.01 1000", "+OK"),
    both("CF.RESERVE bloom 1000", EXISTS),
    both("CF.RESERVE", "-ERR wrong number of arguments for 'cf.reserve' command"),
    both("CF.RESERVE g", "-ERR wrong number of arguments for 'cf.reserve' command"),
    both("CF.RESERVE g x", "-Bad capacity"),
    both("CF.RESERVE g ''", "-Bad capacity"),
    both("CF.RESERVE g 1e3", "-Bad capacity"),
    both("CF.RESERVE g 9223372036854775808", "-Bad capacity"),
    both("CF.RESERVE g 0", CAPACITY),
    both("CF.RESERVE g -1", CAPACITY),
    both("CF.RESERVE g 3", CAPACITY),
    both("CF.RESERVE g 15 BUCKETSIZE 8", CAPACITY),
    both("CF.RESERVE g 9223372036854775807", "-ERR ..."),
    both("CF.RESERVE g 10 BUCKETSIZE", "-Couldn't parse BUCKETSIZE"),
    both("CF.RESERVE g 10 BUCKETSIZE x", "-Couldn't parse BUCKETSIZE"),
    both("CF.RESERVE g 10 BUCKETSIZE 0", BUCKET_SIZE),
    both("CF.RESERVE g 1000 BUCKETSIZE 256", BUCKET_SIZE),
    both("CF.RESERVE g 10 MAXITERATIONS", "-Couldn't parse MAXITERATIONS"),
    both("CF.RESERVE g 10 MAXITERATIONS x", "-Couldn't parse MAXITERATIONS"),
    both("CF.RESERVE g 10 MAXITERATIONS 0", ITERATIONS),
    both("CF.RESERVE g 10 MAXITERATIONS 65536", ITERATIONS),
    both("CF.RESERVE g 10 EXPANSION", "-Couldn't parse EXPANSION"),
    both("CF.RESERVE g 10 EXPANSION x", "-Couldn't parse EXPANSION"),
    both("CF.RESERVE g 10 EXPANSION -1", EXPANSION),
    both("CF.RESERVE g 10 EXPANSION 32769", EXPANSION),
    both("CF.RESERVE g 10 ERROR", "-Couldn't parse ERROR"),
    both("CF.RESERVE g 10 ERROR x", "-Couldn't parse ERROR"),
    both("CF.RESERVE g 10 ERROR 0", ERROR),
    both("CF.RESERVE g 10 ERROR 1", ERROR),
    both("CF.RESERVE g 10 ERROR 1e-300", "-ERR could not create filter: ..."),
    both("CF.RESERVE g 10 NONSCALING", "-ERR unknown argument received"),
    both("EXISTS g", ":0"),
];

/// `CF.ADD`, `CF.ADDNX`, `CF.EXISTS`, `CF.MEXISTS`, `CF.COUNT`, `CF.DEL`.
pub(super) const ADD: &[Case] = &[
    each("CF.ADD f a", ":1", "#t"),
    each("CF.ADD f a", ":1", "#t"),
    each("CF.ADD f ''", ":1", "#t"),
    both("CF.COUNT f a", ":2"),
    each("CF.ADDNX f a", ":0", "#f"),
    each("CF.ADDNX f b", ":1", "#t"),
    both("CF.COUNT f a", ":2"),
    both("CF.COUNT f b", ":1"),
    both("CF.COUNT f c", ":0"),
    each("CF.EXISTS f a", ":1", "#t"),
    each("CF.EXISTS f c", ":0", "#f"),
    each("CF.MEXISTS f a c b ''", "*4|:1|:0|:1|:1", "*4|#t|#f|#t|#t"),
    each("CF.DEL f a", ":1", "#t"),
    each("CF.EXISTS f a", ":1", "#t"),
    each("CF.DEL f a", ":1", "#t"),
    each("CF.DEL f a", ":0", "#f"),
    each("CF.EXISTS f a", ":0", "#f"),
    both("CF.COUNT f a", ":0"),
    each("CF.ADDNX new a", ":1", "#t"),
    // No filter.
    each("CF.EXISTS none a", ":0", "#f"),
    each("CF.MEXISTS none a b", "*2|:0|:0", "*2|#f|#f"),
    both("CF.COUNT none a", ":0"),
    both("CF.DEL none a", "-Not found"),
    // The other commands know it.
    each("BF.ADD f b", ":0", "#f"),
    both("CF.COUNT f b", ":2"),
    each("BF.EXISTS f b", ":1", "#t"),
    each("BF.REM f b b b", "*3|:1|:1|:0", "*3|#t|#t|#f"),
    both("BF.CARD f", ":1"),
    each("BF.INFO f KIND", "*1|$7|compact", "%1|+Kind|$7|compact"),
    both("TYPE f", "+MBbloom--"),
    // An item that came 15 times stays.
    each("CF.INSERT f ITEMS x x x x x x x x", EIGHT[0], EIGHT[1]),
    each("CF.INSERT f ITEMS x x x x x x x x", EIGHT[0], EIGHT[1]),
    both("CF.COUNT f x", ":15"),
    each("CF.DEL f x", ":0", "#f"),
    each("CF.EXISTS f x", ":1", "#t"),
    // The number of words.
    both("CF.ADD f", "-ERR wrong number of arguments for 'cf.add' command"),
    both("CF.ADD f a b", "-ERR wrong number of arguments for 'cf.add' command"),
    both("CF.ADDNX f", "-ERR wrong number of arguments for 'cf.addnx' command"),
    both("CF.EXISTS f", "-ERR wrong number of arguments for 'cf.exists' command"),
    both("CF.MEXISTS f", "-ERR wrong number of arguments for 'cf.mexists' command"),
    both("CF.COUNT f", "-ERR wrong number of arguments for 'cf.count' command"),
    both("CF.DEL f", "-ERR wrong number of arguments for 'cf.del' command"),
    // Another kind.
    each("BF.ADD bloom a", ":1", "#t"),
    both("CF.ADD bloom a", WRONG_TYPE),
    both("CF.ADDNX bloom a", WRONG_TYPE),
    both("CF.INSERT bloom ITEMS a", WRONG_TYPE),
    both("CF.INSERTNX bloom ITEMS a", WRONG_TYPE),
    both("CF.EXISTS bloom a", WRONG_TYPE),
    both("CF.MEXISTS bloom a", WRONG_TYPE),
    both("CF.COUNT bloom a", WRONG_TYPE),
    both("CF.DEL bloom a", WRONG_TYPE),
    both("CF.INFO bloom", WRONG_TYPE),
    both("CF.COMPACT bloom", WRONG_TYPE),
    both("CF.SCANDUMP bloom 0", WRONG_TYPE),
];

/// `CF.INSERT`, `CF.INSERTNX`, and filters that are full.
pub(super) const INSERT: &[Case] = &[
    each("CF.INSERT f ITEMS a b a", "*3|:1|:1|:1", "*3|#t|#t|#t"),
    both("CF.INSERTNX f ITEMS a c c", "*3|:0|:1|:0"),
    both("CF.COUNT f a", ":2"),
    each("CF.INSERT f CAPACITY 100 NOCREATE ITEMS d", "*1|:1", "*1|#t"),
    each("cf.insert g capacity 5000 items ITEMS NOCREATE", "*2|:1|:1", "*2|#t|#t"),
    both("CF.COUNT g NOCREATE", ":1"),
    both("CF.INSERT h NOCREATE ITEMS a", NOT_FOUND),
    both("CF.INSERTNX h NOCREATE CAPACITY 100 ITEMS a", NOT_FOUND),
    both("CF.INSERTNX h CAPACITY 100 ITEMS a", "*1|:1"),
    both("CF.INSERT i CAPACITY -1 ITEMS a", CAPACITY),
    both("CF.INSERT i CAPACITY 3 ITEMS a", CAPACITY),
    both("CF.INSERT f CAPACITY 3 ITEMS a", CAPACITY),
    both("CF.INSERTNX f CAPACITY x ITEMS a", "-Bad capacity"),
    both("CF.INSERT f NOCREATE CAPACITY", "-Bad capacity"),
    both("CF.INSERT f NOCREATE x ITEMS a", "-Unknown argument received"),
    both("CF.INSERT f ERROR 0.1 ITEMS a", "-Unknown argument received"),
    both("CF.INSERT f a b", "-Unknown argument received"),
    both("CF.INSERT f NOCREATE ITEMS", "-ERR wrong number of arguments for 'cf.insert' command"),
    both("CF.INSERT f ITEMS", "-ERR wrong number of arguments for 'cf.insert' command"),
    both("CF.INSERTNX f ITEMS", "-ERR wrong number of arguments for 'cf.insertnx' command"),
    both("CF.INSERTNX f NOCREATE NOCREATE", "-ERR wrong number of ..."),
    both("EXISTS i", ":0"),
    // Full.
    both("CF.RESERVE full 4 EXPANSION 0", "+OK"),
    both("CF.INSERTNX full ITEMS 1 2", "*2|:1|:1"),
    each("CF.INSERT full ITEMS 3 3 4 1", "*4|:1|:1|:-1|:-1", "*4|#t|#t|#f|#f"),
    both("CF.INSERTNX full ITEMS 1 5 2 6 3", "*5|:0|:-1|:0|:-1|:0"),
    both("CF.ADD full 1", "-Filter is full"),
    both("CF.ADDNX full 5", "-Filter is full"),
    each("CF.ADDNX full 1", ":0", "#f"),
    both("BF.ADD full 5", "-ERR non scaling filter is full"),
    both("BF.MADD full 5 6", "*1|-ERR non scaling filter is full"),
    each("CF.DEL full 1", ":1", "#t"),
    each("CF.ADD full 5", ":1", "#t"),
];

/// `CF.INFO`, `CF.COMPACT`, `CF.SCANDUMP`, `CF.LOADCHUNK`.
pub(super) const INFO: &[Case] = &[
    both("CF.RESERVE f 1000 BUCKETSIZE 4 EXPANSION 2", "+OK"),
    each("CF.INSERT f ITEMS a b c", "*3|:1|:1|:1", "*3|#t|#t|#t"),
    each("CF.DEL f a", ":1", "#t"),
    each(
        "CF.INFO f",
        "*16|+Size|?|+Number of buckets|?|+Number of filters|:1|+Number of items inserted|:2\
         |+Number of items deleted|:1|+Bucket size|:2|+Expansion rate|:2|+Max iterations|:20",
        "%8|+Size|?|+Number of buckets|?|+Number of filters|:1|+Number of items inserted|:2\
         |+Number of items deleted|:1|+Bucket size|:2|+Expansion rate|:2|+Max iterations|:20",
    ),
    both("CF.INFO none", NOT_FOUND),
    both("CF.INFO", "-ERR wrong number of arguments for 'cf.info' command"),
    both("CF.COMPACT f", "+OK"),
    both("CF.COMPACT none", "-Cuckoo filter was not found"),
    both("CF.COMPACT f a", "-ERR wrong number of arguments for 'cf.compact' command"),
    both("CF.SCANDUMP none 0", NOT_FOUND),
    both("CF.SCANDUMP f x", "-Invalid position"),
    both("CF.SCANDUMP f 1", "-ERR no dump was started; ..."),
    both("CF.LOADCHUNK g x abc", "-Invalid position"),
    both("CF.LOADCHUNK g 0 abc", "-Invalid position"),
    both("CF.LOADCHUNK g 1 abc", "-Invalid header: a dump of RedisBloom cannot be loaded; ..."),
    both("CF.LOADCHUNK g 2 abc", NOT_FOUND),
    both("EXISTS g", ":0"),
    // By the commands of all filters.
    both("BF.RESERVE b 0.0001 1000 LAYOUT compact", "+OK"),
    each("CF.ADD b a", ":1", "#t"),
    each("BF.INFO b EXPANSION", "*1|$-1", "%1|+Expansion rate|_"),
    each("BF.INFO f EXPANSION", "*1|:2", "%1|+Expansion rate|:2"),
    both("BF.INFO b TIGHTENING", "-Invalid information value"),
    both("BF.RESERVE c 0.0001 1000 LAYOUT compact EXPANSION 2", "+OK"),
    each("BF.INFO c TIGHTENING", "*1|$-1", "%1|+Tightening ratio|_"),
    each("BF.INFO c MAXSCALEDCAPACITY", "*1|:2097152", "%1|+Max scaled capacity|:2097152"),
    both("BF.RESERVE d 0.0001 1000 LAYOUT compact EXPANSION 2 NONSCALING", "-Nonscaling ..."),
    both("BF.RESERVE d 0.0001 1000 LAYOUT compact COUNTING", "-ERR use one of ..."),
    both("BF.RESERVE d 0.0001 1000 LAYOUT compact NONSCALING", "+OK"),
    both("BF.MERGE e b d", "+OK"),
    each("CF.EXISTS e a", ":1", "#t"),
    both("BF.MERGE g b f", "-ERR cannot merge these filters: ..."),
];
