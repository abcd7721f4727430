//! Our side of the exchange with JVM libraries; `run.sh` runs all of it.
//!
//! `interop guava|spark|bloomfileter FOLDER` builds the filters that the JVM wrote into the folder
//! from the same keys, compares bytes and answers, and writes its own files there.

use mayhap_formats::{
    BloomFileter, BloomFileterOptions, BloomFileterRate, ForeignFilter, Format, GuavaFilter,
    GuavaFunnel, GuavaOptions, GuavaRelease, GuavaStrategy, KeyType, Limits, SparkFilter,
    SparkOptions, SparkVersion, open,
};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const COUNT: i64 = 10_000;
const MEMBERS: i64 = COUNT / 5;

fn text(i: i64) -> String {
    let tails = ["", "é", "é中", "é中😀", "é中😀x", "x"];
    let dashes = "-".repeat((i % 31) as usize);
    format!("key:{i}{}{dashes}", tails[(i % 6) as usize])
}

fn number(i: i64) -> i64 {
    (i - 5_000).wrapping_mul(0x9E37_79B9_7F4A)
}

fn members() -> impl Iterator<Item = i64> {
    (0..COUNT).filter(|i| i % 5 == 0)
}

/// Key `i` as a filter of this kind hashes it.
fn key(kind: &str, i: i64) -> Vec<u8> {
    let mut scratch = Vec::new();
    let (key_type, text) = match kind {
        "long" => (KeyType::Long, number(i).to_string()),
        "int" => (KeyType::Int, (number(i) as i32).to_string()),
        "utf16" => (KeyType::Utf16, text(i)),
        "latin1" => (KeyType::Latin1, text(i)),
        _ => (KeyType::Bytes, text(i)),
    };
    key_type.encode(text.as_bytes(), &mut scratch).expect("a key of its type").to_vec()
}

struct Exchange {
    folder: PathBuf,
}

impl Exchange {
    fn read(&self, name: &str) -> Result<Vec<u8>> {
        fs::read(self.folder.join(name)).map_err(|error| format!("{name}: {error}").into())
    }

    /// The JVM's file opens, is written back, gives the JVM's answers and equals the one that we
    /// have built.
    fn compare(&self, format: Format, name: &str, kind: &str, built: &[u8]) -> Result<()> {
        let theirs = self.read(name)?;
        let filter = open(format, &theirs, &Limits::default())?;
        let found = (0..COUNT).map(|i| if filter.contains(&key(kind, i)) { b'1' } else { b'0' });
        if !found.eq(self.read(&format!("{name}.answers"))?) {
            return Err(format!("{name}: other answers here").into());
        }
        if filter.encode() != theirs {
            return Err(format!("{name}: written back otherwise").into());
        }
        if built != theirs {
            return Err(format!("{name}: built otherwise").into());
        }
        println!("interop {name}: {COUNT} answers and {} bytes agree here", theirs.len());
        Ok(())
    }

    fn write(
        &self,
        name: &str,
        kind: &str,
        filter: &dyn ForeignFilter,
        bytes: &[u8],
    ) -> Result<()> {
        let answers: Vec<u8> =
            (0..COUNT).map(|i| b'0' + u8::from(filter.contains(&key(kind, i)))).collect();
        fs::write(self.folder.join(name), bytes)?;
        fs::write(self.folder.join(format!("{name}.answers")), answers)?;
        Ok(())
    }

    fn guava(&self) -> Result<()> {
        let release = self.guava_sizes()?;
        for (suffix, strategy) in [("32", GuavaStrategy::Mitz32), ("64", GuavaStrategy::Mitz64)] {
            for (kind, funnel) in [
                ("utf8", GuavaFunnel::String { charset: "UTF-8".to_owned() }),
                ("utf16", GuavaFunnel::UnencodedChars),
                ("latin1", GuavaFunnel::String { charset: "ISO-8859-1".to_owned() }),
                ("long", GuavaFunnel::Long),
                ("int", GuavaFunnel::Integer),
            ] {
                let options =
                    GuavaOptions { fpp: 0.01, strategy, release, ..GuavaOptions::new(MEMBERS) };
                let mut filter = GuavaFilter::create(&options, &Limits::default())?;
                for i in members() {
                    filter.insert(&key(kind, i));
                }
                let (stream, object) = (filter.to_stream(), filter.to_serialized(&funnel)?);
                let name = format!("guava-{kind}-{suffix}");
                for (bytes, suffix) in [(stream, "bin"), (object, "ser")] {
                    let theirs = format!("jvm-{name}.{suffix}");
                    self.compare(Format::Guava, &theirs, kind, &bytes)?;
                    self.write(&format!("ours-{name}.{suffix}"), kind, &filter, &bytes)?;
                }
            }
        }
        Ok(())
    }

    /// Compares sizes; which release's formula for k agrees with all of them.
    fn guava_sizes(&self) -> Result<GuavaRelease> {
        let lines = String::from_utf8(self.read("jvm-guava-sizes.txt")?)?;
        'releases: for release in [GuavaRelease::UpTo31, GuavaRelease::From33] {
            for line in lines.lines() {
                let numbers: std::result::Result<Vec<u64>, _> =
                    line.split(' ').map(str::parse).collect();
                let [n, fpp, hashes, longs] = numbers?[..] else { return Err(line.into()) };
                let fpp = f64::from_bits(fpp);
                let options = GuavaOptions { fpp, release, ..GuavaOptions::new(n.try_into()?) };
                let (our_longs, our_hashes) = options.num_longs_and_hashes()?;
                if u64::from(our_longs) != longs {
                    return Err(format!("n {n}, p {fpp}: {longs} longs, {our_longs} here").into());
                }
                if u64::from(our_hashes) != hashes {
                    continue 'releases;
                }
            }
            let count = lines.lines().count();
            println!("interop guava sizes: {count} pairs of n and p agree with {release:?}");
            return Ok(release);
        }
        Err("k agrees with the formula of no release".into())
    }

    fn spark(&self) -> Result<()> {
        for (name, version) in [
            ("v1", SparkVersion::V1),
            ("v2", SparkVersion::V2 { seed: 0 }),
            ("v2-seed", SparkVersion::V2 { seed: -1_234_567_890 }),
        ] {
            for kind in ["text", "long"] {
                let name = format!("spark-{name}-{kind}");
                let options = SparkOptions { fpp: 0.01, version, ..SparkOptions::new(MEMBERS) };
                let mut stream = SparkFilter::create(&options, &Limits::default())?;
                // Each release has another class there, so the object is the JVM's, emptied.
                let empty = self.read(&format!("jvm-{name}.empty"))?;
                let mut object = SparkFilter::decode(&empty, &Limits::default())?;
                if object.to_stream() != stream.encode() {
                    return Err(format!("{name}: created otherwise").into());
                }
                for i in members() {
                    stream.insert(&key(kind, i));
                    object.insert(&key(kind, i));
                }
                for (filter, suffix) in [(stream, "bin"), (object, "ser")] {
                    let bytes = filter.encode();
                    let theirs = format!("jvm-{name}.{suffix}");
                    self.compare(Format::Spark, &theirs, kind, &bytes)?;
                    self.write(&format!("ours-{name}.{suffix}"), kind, &filter, &bytes)?;
                }
            }
        }
        Ok(())
    }

    /// One filter between changes, reread after each as on the JVM's side.
    fn bloomfileter(&self) -> Result<()> {
        let options = BloomFileterOptions {
            rate: BloomFileterRate::Small,
            auto_clear_rate: Some(0.9),
            ..BloomFileterOptions::new(3_000, "BloomFileter")
        };
        let limits = Limits::default();
        let mut filter = BloomFileter::create(&options, &limits)?;
        let steps: [fn(&mut BloomFileter); 7] = [
            |_| {},
            |filter| filter.add("a"),
            |filter| members().for_each(|i| filter.add(&text(i))),
            BloomFileter::clear,
            |filter| filter.add("b"),
            |filter| {
                (0..100).for_each(|i| filter.add(&text(i)));
                filter.clear();
            },
            |filter| filter.add(&text(7)),
        ];
        for (step, change) in steps.into_iter().enumerate() {
            change(&mut filter);
            let bytes = filter.encode();
            let theirs = format!("jvm-bloomfileter-{step}");
            self.compare(Format::BloomFileter, &theirs, "utf16", &bytes)?;
            self.write(&format!("ours-bloomfileter-{step}"), "utf16", &filter, &bytes)?;
            filter = BloomFileter::decode(&bytes, &limits)?;
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [system, folder] = &arguments[..] else {
        return Err("usage: interop guava|spark|bloomfileter FOLDER".into());
    };
    let exchange = Exchange { folder: Path::new(folder).to_owned() };
    match system.as_str() {
        "guava" => exchange.guava(),
        "spark" => exchange.spark(),
        "bloomfileter" => exchange.bloomfileter(),
        other => Err(format!("no system {other}").into()),
    }
}
