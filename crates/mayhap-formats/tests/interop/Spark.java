import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.util.sketch.BloomFilter;

/** Filters of the Spark sketch jar that is on the class path, 4.1 or later. */
final class Spark {
    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[1]);
        boolean write = args[0].equals("write");
        for (boolean text : new boolean[] {true, false}) {
            one(write, folder, "v1", BloomFilter.Version.V1, 0, text);
            one(write, folder, "v2", BloomFilter.Version.V2, 0, text);
            one(write, folder, "v2-seed", BloomFilter.Version.V2, -1_234_567_890, text);
        }
    }

    private static boolean contains(BloomFilter filter, int i, boolean text) {
        return text
                ? filter.mightContainString(Keys.text(i))
                : filter.mightContainLong(Keys.number(i));
    }

    private static void one(boolean write, Path folder, String version, BloomFilter.Version of,
            int seed, boolean text) throws Exception {
        String name = version + (text ? "-text" : "-long");
        if (!write) {
            String file = "ours-spark-" + name + ".bin";
            BloomFilter filter = BloomFilter.readFrom(Files.readAllBytes(folder.resolve(file)));
            Keys.compare(folder, file, i -> contains(filter, i, text));
            file = "ours-spark-" + name + ".ser";
            try (var in = new ObjectInputStream(Files.newInputStream(folder.resolve(file)))) {
                BloomFilter object = (BloomFilter) in.readObject();
                Keys.compare(folder, file, i -> contains(object, i, text));
            }
            return;
        }
        long bits = BloomFilter.optimalNumOfBits(Keys.MEMBERS, 0.01);
        BloomFilter filter = BloomFilter.create(of, Keys.MEMBERS, bits, seed);
        var empty = new ByteArrayOutputStream();
        try (var out = new ObjectOutputStream(empty)) {
            out.writeObject(filter);
        }
        for (int i = 0; i < Keys.COUNT; i++) {
            if (Keys.member(i)) {
                if (text) {
                    filter.putString(Keys.text(i));
                } else {
                    filter.putLong(Keys.number(i));
                }
            }
        }
        var stream = new ByteArrayOutputStream();
        filter.writeTo(stream);
        String file = "jvm-spark-" + name;
        Keys.save(folder, file + ".bin", stream.toByteArray(), i -> contains(filter, i, text));
        // The empty object is what the other side fills: each release has another class there.
        Files.write(folder.resolve(file + ".empty"), empty.toByteArray());
        var object = new ByteArrayOutputStream();
        try (var out = new ObjectOutputStream(object)) {
            out.writeObject(filter);
        }
        Keys.save(folder, file + ".ser", object.toByteArray(), i -> contains(filter, i, text));
    }
}
