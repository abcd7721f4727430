import java.io.BufferedInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.util.sketch.BloomFilter;

/** `Spark text|bytes|long FILE N ROUNDS`: mightContainString, -Binary, -Long. */
final class Spark {
    public static void main(String[] args) throws Exception {
        BloomFilter filter;
        try (var in = new BufferedInputStream(Files.newInputStream(Path.of(args[1])), 1 << 20)) {
            filter = BloomFilter.readFrom(in);
        }
        long n = Long.parseLong(args[2]);
        int rounds = Integer.parseInt(args[3]);
        for (boolean hit : new boolean[] {true, false}) {
            String[] texts = new String[Jvm.KEYS];
            byte[][] bytes = new byte[Jvm.KEYS][];
            long[] longs = new long[Jvm.KEYS];
            for (int j = 0; j < Jvm.KEYS; j++) {
                longs[j] = Jvm.index(hit, j, n);
                texts[j] = Jvm.text(longs[j]);
                bytes[j] = Jvm.bytes(longs[j]);
            }
            switch (args[0]) {
                case "text" -> Jvm.measure(hit, rounds, j -> filter.mightContainString(texts[j]));
                case "bytes" -> Jvm.measure(hit, rounds, j -> filter.mightContainBinary(bytes[j]));
                default -> Jvm.measure(hit, rounds, j -> filter.mightContainLong(longs[j]));
            }
        }
    }
}
