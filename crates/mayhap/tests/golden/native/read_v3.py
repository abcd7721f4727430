"""Reads mayhap filter files of versions 1 and 3. Needs Python 3.8 and the package `xxhash`."""

import struct
import xxhash

MASK = (1 << 64) - 1


def splitmix64(i):
    z = (i + 1) * 0x9E3779B97F4A7C15 & MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return z ^ z >> 31


PROBE_MULTIPLIERS = [1] + [splitmix64(i) | 1 for i in range(1, 32)]
LANE_MULTIPLIERS = [0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93]
HEADER = struct.Struct("<8s4HQQIHHQdQQ")
IDENTITY = struct.Struct("<QQQQ")
LOG = struct.Struct("<8s2HIQQQQQQ")
RECORD = struct.Struct("<QQI4sHHIQQ")
LOG_BEGUN = 1 << 63


def key_bytes(key):
    if isinstance(key, int):
        return (key & MASK).to_bytes(8, "little")
    return key.encode("utf-8") if isinstance(key, str) else bytes(key)


def positions(layout, num_bits, num_hashes, digest):
    if layout == 1:  # standard
        products = [digest * a & MASK for a in PROBE_MULTIPLIERS[:num_hashes]]
        return [product * num_bits >> 64 for product in products]
    block = digest * (num_bits // 512) >> 64
    if num_hashes == 4:
        product = digest * LANE_MULTIPLIERS[0] & MASK
        return [block * 512 + lane * 128 + (product >> 57 - 7 * lane & 127) for lane in range(4)]
    products = [digest * a & MASK for a in LANE_MULTIPLIERS[: num_hashes // 8]]
    lanes = [(lane, product) for product in products for lane in range(8)]
    return [block * 512 + lane * 64 + (product >> 58 - 6 * lane & 63) for lane, product in lanes]


def siphash13(key, data):
    k0, k1 = struct.unpack("<QQ", key)
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
    rotl = lambda x, bits: (x << bits | x >> 64 - bits) & MASK
    tail = data[len(data) // 8 * 8 :].ljust(7, b"\0") + bytes([len(data) & 255])
    words = [word for (word,) in struct.iter_unpack("<Q", data[: len(data) // 8 * 8] + tail)]
    for word, rounds in [(word, 1) for word in words] + [(None, 3)]:
        if word is None:
            v2 ^= 255
        else:
            v3 ^= word
        for _ in range(rounds):
            v0, v2 = v0 + v1 & MASK, v2 + v3 & MASK
            v1, v3 = rotl(v1, 13) ^ v0, rotl(v3, 16) ^ v2
            v0, v2 = rotl(v0, 32) + v3 & MASK, v2 + v1 & MASK
            v1, v3 = rotl(v1, 17) ^ v2, rotl(v3, 21) ^ v0
            v2 = rotl(v2, 32)
        v0 ^= word or 0
    return v0 ^ v1 ^ v2 ^ v3


def xxh3(data):
    return xxhash.xxh3_64_intdigest(data)


def identity_of(header):
    """The id (low, high) and epoch of a state, whether a log was begun; `None` for no state."""
    *identity, checksum = IDENTITY.unpack_from(header, 4032)
    if not any(header[4032:4064]):
        return None
    if xxh3(header[4032:4056]) != checksum:
        raise ValueError("the identity is damaged (or was just being written: read it again)")
    low, high, epoch = identity
    return low, high, epoch & ~LOG_BEGUN, epoch & LOG_BEGUN != 0


def log_digests(log, digest_id, digest_parameter, options, identity):
    """The digests that the log adds to the image of this identity, for kinds without times."""
    magic, version, digest, zero, parameter, options_hash, *rest = LOG.unpack_from(log)
    low, high, epoch, checksum = rest
    if (magic, version, zero) != (b"\x89mhplog\n", 2, 0) or xxh3(log[:56]) != checksum:
        raise ValueError("not a log of version 2, or damaged")
    if (low, high) != identity[:2] or epoch < identity[2]:
        return []  # of another state, or in the image already
    if epoch > identity[2]:
        raise ValueError("the file is an older copy than the log belongs to")
    if (digest, parameter, options_hash) != (digest_id, digest_parameter, xxh3(options)):
        raise ValueError("the log has other keys")
    digests, place, previous, sequence = [], LOG.size, checksum, 0
    while len(log) >= place + RECORD.size:
        before, number, count, mark, operation, *_ = RECORD.unpack_from(log, place)
        end = place + RECORD.size + 8 * count
        found = int.from_bytes(log[end : end + 8], "little")
        if mark != b"\x89mhr" or xxh3(log[place:end]) != found:
            break  # the end of the log: a record that was not written whole
        if (before, number, operation) != (previous, sequence, 1):
            raise ValueError("the log is damaged")
        digests += [digest for (digest,) in struct.iter_unpack("<Q", log[end - 8 * count : end])]
        previous, sequence, place = xxh3(log[place:end]), sequence + 1, end + 8
    return digests


class Filter:
    """A filter file in memory: `"key" in Filter(open("seen.mayhap", "rb").read())`.

    A state is an image and a log of what came since, `seen.mayhap.log`, which is given as `log`.
    """

    def __init__(self, data, secret_key=None, log=None):
        if data[:8] != b"\x89mayhap\n" or len(data) < 4096:
            raise ValueError("not a mayhap filter")
        _, version, kind, self.layout, self.digest_id, *rest = HEADER.unpack_from(data)
        if version not in (1, 3) or kind != 1 or self.layout not in (1, 2):
            raise ValueError(f"version {version}, kind {kind}, layout {self.layout}: not read here")
        header = data[:4032] + (bytes(32) if version == 3 else data[4032:4064]) + data[4064:4088]
        if xxh3(header) != int.from_bytes(data[4088:4096], "little"):
            raise ValueError("the header is damaged")
        identity = identity_of(data) if version == 3 else None
        self.digest_parameter, self.num_bits, self.num_hashes, options_bytes, _ = rest[:5]
        self.expected_items, self.target_fpp, self.inserted_items, table_checksum = rest[5:]
        options = data[128 : 128 + options_bytes]
        self.key_options = options.decode("utf-8")
        pages = -(-self.num_bits // 32768)
        if len(data) != 4096 + pages * 4104:
            raise ValueError("truncated or too long")
        body, table = data[4096 : 4096 + pages * 4096], data[4096 + pages * 4096 :]
        self.body = bytearray(body)
        if xxh3(table) != table_checksum:
            raise ValueError("the checksum table is damaged")
        for page, (checksum,) in enumerate(struct.iter_unpack("<Q", table)):
            if xxh3(body[page * 4096 :][:4096]) != checksum:
                raise ValueError(f"page {page} is damaged")
        self.secret_key = secret_key
        if self.digest_id == 2:
            if not secret_key or siphash13(secret_key, b"mayhap key id") != self.digest_parameter:
                raise ValueError("the secret key is missing or another one")
        if identity and identity[3] and log is None:
            raise ValueError("a log was begun that may have more keys: give it too")
        if identity and log:
            meaning = (self.digest_id, self.digest_parameter, options)
            for digest in log_digests(log, *meaning, identity):
                for bit in self.positions(digest):
                    self.body[bit // 8] |= 1 << bit % 8

    def digest(self, key):
        if self.digest_id == 2:
            return siphash13(self.secret_key, key_bytes(key))
        return xxhash.xxh3_64_intdigest(key_bytes(key), self.digest_parameter)

    def positions(self, digest):
        return positions(self.layout, self.num_bits, self.num_hashes, digest)

    def __contains__(self, key):
        bits = self.positions(self.digest(key))
        return all(self.body[bit // 8] >> bit % 8 & 1 for bit in bits)
