import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import java.io.BufferedInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.LongFunction;

/** `Guava text|bytes|long FILE N ROUNDS`: mightContain. A process has one type of keys. */
final class Guava {
    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "text" -> run(args, Funnels.stringFunnel(StandardCharsets.UTF_8), Jvm::text);
            case "bytes" -> run(args, Funnels.byteArrayFunnel(), Jvm::bytes);
            default -> run(args, Funnels.longFunnel(), i -> i);
        }
    }

    @SuppressWarnings("unchecked")
    private static <T> void run(String[] args, Funnel<? super T> funnel, LongFunction<T> key)
            throws Exception {
        BloomFilter<T> filter;
        try (var in = new BufferedInputStream(Files.newInputStream(Path.of(args[1])), 1 << 20)) {
            filter = BloomFilter.readFrom(in, (Funnel<T>) funnel);
        }
        long n = Long.parseLong(args[2]);
        for (boolean hit : new boolean[] {true, false}) {
            Object[] keys = new Object[Jvm.KEYS];
            for (int j = 0; j < keys.length; j++) {
                keys[j] = key.apply(Jvm.index(hit, j, n));
            }
            Jvm.measure(hit, Integer.parseInt(args[3]), j -> filter.mightContain((T) keys[j]));
        }
    }
}
