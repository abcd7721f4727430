import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.BitSet;
import java.util.stream.IntStream;

/**
 * Opens a bitmap as Java-BloomFilter keeps one, with the JVM's own BitSet and MD5. The constructor
 * of the class for n = 11,000 and f = 0.01 has these k and m.
 */
final class OpenMagnus {
    private static final int HASHES = (int) Math.ceil(-(Math.log(0.01) / Math.log(2)));
    private static final int BITS =
            (int) Math.ceil(Math.ceil(-(Math.log(0.01) / Math.log(2))) / Math.log(2) * 11_000);

    /** Four numbers of each digest of a salt and the key. */
    private static IntStream positions(String key) {
        var positions = IntStream.builder();
        try {
            var digest = MessageDigest.getInstance("MD5");
            byte salt = 0;
            for (int i = 0; i < HASHES; salt++) {
                digest.update(salt);
                byte[] bytes = digest.digest(key.getBytes(StandardCharsets.UTF_8));
                for (int word = 0; word < 4 && i < HASHES; word++, i++) {
                    int hash = 0;
                    for (int at = 4 * word; at < 4 * word + 4; at++) {
                        hash = hash << 8 | bytes[at] & 0xFF;
                    }
                    positions.add(Math.abs(hash % BITS));
                }
            }
        } catch (java.security.NoSuchAlgorithmException error) {
            throw new IllegalStateException(error);
        }
        return positions.build();
    }

    public static void main(String[] args) throws Exception {
        BitSet bits = BitSet.valueOf(Files.readAllBytes(Path.of(args[0])));
        Opened.extend(args, key -> positions(key).allMatch(bits::get),
                key -> positions(key).forEach(bits::set));
        Files.write(Opened.theirs(args), bits.toByteArray());
    }
}
