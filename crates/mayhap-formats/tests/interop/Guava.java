import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnel;
import com.google.common.hash.Funnels;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.IntFunction;

/** Filters of the Guava that is on the class path. */
final class Guava {
    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[1]);
        boolean write = args[0].equals("write");
        for (int mitz : new int[] {32, 64}) {
            one(write, folder, "utf8-" + mitz, Funnels.stringFunnel(StandardCharsets.UTF_8),
                    Keys::text, mitz);
            one(write, folder, "utf16-" + mitz, Funnels.unencodedCharsFunnel(), Keys::text, mitz);
            one(write, folder, "latin1-" + mitz, Funnels.stringFunnel(StandardCharsets.ISO_8859_1),
                    Keys::text, mitz);
            one(write, folder, "long-" + mitz, Funnels.longFunnel(), Keys::number, mitz);
            one(write, folder, "int-" + mitz, Funnels.integerFunnel(), i -> (int) Keys.number(i), mitz);
        }
        if (write) {
            sizes(folder);
        }
    }

    /** The strategy is not public before it is chosen by a stream, so it is taken by reflection. */
    @SuppressWarnings("unchecked")
    private static <T> BloomFilter<T> create(Funnel<? super T> funnel, int mitz) throws Exception {
        Class<?> strategies = Class.forName("com.google.common.hash.BloomFilterStrategies");
        Field constant = strategies.getDeclaredField("MURMUR128_MITZ_" + mitz);
        constant.setAccessible(true);
        Class<?> strategy = Class.forName("com.google.common.hash.BloomFilter$Strategy");
        Method create = BloomFilter.class.getDeclaredMethod(
                "create", Funnel.class, long.class, double.class, strategy);
        create.setAccessible(true);
        return (BloomFilter<T>) create.invoke(null, funnel, (long) Keys.MEMBERS, 0.01, constant.get(null));
    }

    @SuppressWarnings("unchecked")
    private static <T> void one(boolean write, Path folder, String name, Funnel<? super T> funnel,
            IntFunction<T> key, int mitz) throws Exception {
        if (!write) {
            String file = "ours-guava-" + name;
            try (var in = Files.newInputStream(folder.resolve(file + ".bin"))) {
                BloomFilter<T> filter = BloomFilter.readFrom(in, (Funnel<T>) funnel);
                Keys.compare(folder, file + ".bin", i -> filter.mightContain(key.apply(i)));
            }
            try (var in = new ObjectInputStream(Files.newInputStream(folder.resolve(file + ".ser")))) {
                BloomFilter<T> filter = (BloomFilter<T>) in.readObject();
                Keys.compare(folder, file + ".ser", i -> filter.mightContain(key.apply(i)));
            }
            return;
        }
        BloomFilter<T> filter = create(funnel, mitz);
        for (int i = 0; i < Keys.COUNT; i++) {
            if (Keys.member(i)) {
                filter.put(key.apply(i));
            }
        }
        var stream = new ByteArrayOutputStream();
        filter.writeTo(stream);
        String file = "jvm-guava-" + name;
        Keys.save(folder, file + ".bin", stream.toByteArray(), i -> filter.mightContain(key.apply(i)));
        var object = new ByteArrayOutputStream();
        try (var out = new ObjectOutputStream(object)) {
            out.writeObject(filter);
        }
        Keys.save(folder, file + ".ser", object.toByteArray(), i -> filter.mightContain(key.apply(i)));
    }

    /** A line per n and p: n, the bits of p, k, the longs. */
    private static void sizes(Path folder) throws Exception {
        var lines = new StringBuilder();
        for (long n = 1; n < 3_000_000; n += 1 + n / 7) {
            for (double fpp = 0.5; fpp > 1e-15; fpp /= 3) {
                var stream = new ByteArrayOutputStream(8);
                BloomFilter<Long> filter;
                try {
                    filter = BloomFilter.create(Funnels.longFunnel(), n, fpp);
                } catch (IllegalArgumentException e) {
                    continue;
                }
                filter.writeTo(stream);
                byte[] bytes = stream.toByteArray();
                lines.append(n).append(' ').append(Double.doubleToLongBits(fpp)).append(' ')
                        .append(bytes[1] & 0xFF).append(' ').append(bytes.length / 8).append('\n');
            }
            if (n > 200_000) {
                n *= 2;
            }
        }
        Files.writeString(folder.resolve("jvm-guava-sizes.txt"), lines);
    }
}
