"""Writes {duckdb,pyarrow}-types.{parquet,json}: a column of every type, and its values as printed.

    python3 parquet_types.py FOLDER

Every column has 60 rows, the last of them null, and a Bloom filter where the writer makes one. The
JSON has for each column all forms in which its writer prints its values.
"""
import datetime
import decimal
import json
import pathlib
import sys
import uuid

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROWS = 60
FOLDER = pathlib.Path(sys.argv[1])


def write_json(name, texts):
    lines = [f" {json.dumps(column)}: {json.dumps(sorted(values))}" for column, values in texts.items()]
    (FOLDER / name).write_text("{\n" + ",\n".join(lines) + "\n}\n")


DUCKDB = {
    "i8": "(i - 30)::tinyint",
    "i16": "(i * 500 - 15000)::smallint",
    "i32": "(i * 70000000 - 2100000000)::integer",
    "i64": "(i - 30)::bigint * 300000000000000000",
    "u8": "(i * 4)::utinyint",
    "u16": "(i * 1000)::usmallint",
    "u32": "(i * 70000000)::uinteger",
    "u64": "i::ubigint * 300000000000000000",
    "f32": "case i when 0 then '-0.0' when 1 then 'inf' when 2 then '-inf' when 3 then 'nan' else (i / 7)::varchar end::float",
    "f64": "case i when 0 then '-0.0' when 1 then 'inf' when 2 then '-inf' when 3 then 'nan' else (i / 7)::varchar end::double",
    "dec4": "(i / 2 - 10)::decimal(4, 1)",
    "dec9": "(i * 1234.56 - 30000)::decimal(9, 2)",
    "dec18": "(i * 123456789012.345 - 1000000000000)::decimal(18, 3)",
    "text": "'name ' || i",
    "blob": "('bytes ' || i)::blob",
    "json": """('{"a": ' || i || '}')::json""",
    "uuid": "('123e4567-e89b-12d3-a456-4266141740' || lpad(i::varchar, 2, '0'))::uuid",
    "date": "date '1969-01-01' + (i * 400)::integer",
    "old_date": "date '0001-01-01' - (i * 100)::integer",
    "time": "time '00:00:00.000001' + to_milliseconds(i * 1234567)",
    "timetz": "(lpad((i % 24)::varchar, 2, '0') || ':20:30.' || i || '+02')::timetz",
    "ts": "timestamp '1969-06-01 01:02:03.000004' + to_seconds(i * 123456789.5)",
    "ts_s": "(timestamp '1969-06-01 01:02:03' + to_seconds(i * 12345678))::timestamp_s",
    "ts_ms": "(timestamp '1969-06-01 01:02:03.004' + to_seconds(i * 12345678))::timestamp_ms",
    "ts_ns": "('2024-05-17 10:20:30.1234567' || lpad(i::varchar, 2, '0'))::timestamp_ns",
    "tstz": "timestamptz '1969-06-01 01:02:03.000004+00' + to_seconds(i * 123456789.5)",
    "interval": "to_days(i::integer)",
    "bool": "i % 2 = 0",
}


def duckdb_file():
    connection = duckdb.connect()
    connection.sql("set TimeZone = 'UTC'")
    rows = ", ".join(
        f"case when i = {ROWS - 1} then null else {value} end as {name}" for name, value in DUCKDB.items()
    )
    connection.sql(f"create table t as select {rows} from range({ROWS}) r(i)")
    file = FOLDER / "duckdb-types.parquet"
    connection.sql(f"copy t to '{file}' (format parquet, dictionary_size_limit 100000, compression zstd)")
    texts = {}
    for name in DUCKDB:
        values = set()
        for zone in ["UTC", "Asia/Kolkata", "America/St_Johns"]:
            connection.sql(f"set TimeZone = '{zone}'")
            read = f"select {name}::varchar from read_parquet('{file}') where {name} is not null"
            values |= {row[0] for row in connection.sql(read).fetchall()}
        texts[name] = values
    write_json("duckdb-types.json", texts)


def pyarrow_file():
    utc = datetime.timezone.utc
    day = datetime.date(1969, 1, 1)
    moment = datetime.datetime(1969, 6, 1, 1, 2, 3)
    number = decimal.Decimal

    def dec(scale, step):
        return lambda i: number((i - 30) * step).scaleb(-scale)

    columns = {
        "i8": (pa.int8(), lambda i: i - 30),
        "i16": (pa.int16(), lambda i: i * 500 - 15000),
        "i32": (pa.int32(), lambda i: i * 70_000_000 - 2_100_000_000),
        "i64": (pa.int64(), lambda i: (i - 30) * 3 * 10**17),
        "u8": (pa.uint8(), lambda i: i * 4),
        "u16": (pa.uint16(), lambda i: i * 1000),
        "u32": (pa.uint32(), lambda i: i * 70_000_000),
        "u64": (pa.uint64(), lambda i: i * 3 * 10**17),
        "f16": (pa.float16(), lambda i: [-0.0, float("inf"), float("nan"), 6e-8][i] if i < 4 else i / 8),
        "f32": (pa.float32(), lambda i: [-0.0, float("inf"), float("nan"), 1e-45][i] if i < 4 else i / 7),
        "f64": (pa.float64(), lambda i: [-0.0, float("inf"), float("nan"), 5e-324][i] if i < 4 else i / 7),
        "dec4": (pa.decimal128(4, 1), dec(1, 5)),
        "dec9": (pa.decimal128(9, 2), dec(2, 1_234_567)),
        "dec18": (pa.decimal128(18, 3), dec(3, 12_345_678_901_234)),
        "dec20": (pa.decimal128(20, 10), dec(10, 1)),
        "dec38": (pa.decimal128(38, 5), dec(5, 10**35)),
        "dec50": (pa.decimal256(50, 5), dec(5, 10**47)),
        "text": (pa.string(), lambda i: f"name {i}"),
        "large_text": (pa.large_string(), lambda i: f"name {i}"),
        "binary": (pa.binary(), lambda i: f"bytes {i}".encode()),
        "fixed": (pa.binary(5), lambda i: f"by {i:02}".encode()),
        "dictionary": (pa.dictionary(pa.int32(), pa.string()), lambda i: f"name {i % 7}"),
        "uuid": (pa.uuid(), lambda i: uuid.UUID(int=(i << 100) + i).bytes),
        "date": (pa.date32(), lambda i: day + datetime.timedelta(days=400 * i)),
        "date64": (pa.date64(), lambda i: day + datetime.timedelta(days=400 * i)),
        "time_ms": (pa.time32("ms"), lambda i: datetime.time(i % 24, 2, 3, 1000 * i)),
        "time_us": (pa.time64("us"), lambda i: datetime.time(i % 24, 2, 3, 123400 + i)),
        "time_ns": (pa.time64("ns"), lambda i: 10**9 * 3600 * (i % 24) + i),
        "ts_s": (pa.timestamp("s"), lambda i: moment + datetime.timedelta(days=99 * i)),
        "ts_ms": (pa.timestamp("ms"), lambda i: moment + datetime.timedelta(days=99 * i, milliseconds=i)),
        "ts_us": (pa.timestamp("us"), lambda i: moment + datetime.timedelta(days=99 * i, microseconds=i)),
        "ts_ns": (pa.timestamp("ns"), lambda i: 10**9 * 1_715_941_230 + i),
        "tz_ms": (pa.timestamp("ms", "UTC"), lambda i: (moment + datetime.timedelta(days=99 * i)).replace(tzinfo=utc)),
        "tz_us": (pa.timestamp("us", "America/St_Johns"), lambda i: (moment + datetime.timedelta(days=99 * i, microseconds=i)).replace(tzinfo=utc)),
        "tz_ns": (pa.timestamp("ns", "UTC"), lambda i: 10**9 * 1_715_941_230 + i),
        "duration": (pa.duration("us"), lambda i: i),
        "list": (pa.list_(pa.uint32()), lambda i: [i, 3_000_000_000 + i]),
        "a#b": (pa.int32(), lambda i: i),
    }
    arrays = {
        name: pa.array([value(i) for i in range(ROWS - 1)] + [None], type)
        for name, (type, value) in columns.items()
    }
    table = pa.table(arrays)
    filters = {"list.list.element" if name == "list" else name: {"ndv": 20, "fpp": 0.01} for name in columns}
    options = {"row_group_size": 20, "compression": "zstd", "write_page_index": True}
    pq.write_table(table, FOLDER / "pyarrow-types.parquet", bloom_filter_options=filters, **options)
    # With decimals as integers.
    schema = table.select(["dec4", "dec9", "dec18"]).schema
    pq.write_table(
        table.select(schema.names),
        FOLDER / "pyarrow-decimals.parquet",
        bloom_filter_options={name: {"ndv": 20, "fpp": 0.01} for name in schema.names},
        store_decimal_as_integer=True,
        **options,
    )

    texts = {}
    for name, array in arrays.items():
        array = array.drop_null()
        if name == "list":
            name, array = "list.list.element", array.flatten()
        if name == "duration":
            texts[name] = {str(value.value) for value in array}
            continue
        values = set()
        if not name.endswith("_ns"):
            for value in array:
                value = value.as_py()
                values.add(value.decode() if isinstance(value, bytes) else str(value))
        if name not in ["uuid", "binary", "fixed", "dictionary", "f16"]:
            values |= set(pc.cast(array, pa.string()).to_pylist())
        texts[name] = values
    write_json("pyarrow-types.json", texts)


print("DuckDB", duckdb.__version__, "pyarrow", pa.__version__)
duckdb_file()
pyarrow_file()
