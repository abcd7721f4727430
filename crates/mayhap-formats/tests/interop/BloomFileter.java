import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A class of the fields, serialVersionUID and positions of the BloomFileter that crawlers copy: what
 * is tested is that a JVM reads the other side's objects, and writes a BitSet as long as it does.
 */
final class BloomFileter implements Serializable {
    private static final long serialVersionUID = -5221305273707291280L;

    enum MisjudgmentRate {
        VERY_SMALL(2, 3, 5, 7), SMALL(2, 3, 5, 7, 11, 13, 17, 19);

        final int[] seeds;

        MisjudgmentRate(int... seeds) {
            this.seeds = seeds;
        }
    }

    private final int size;
    private final Double autoClearRate;
    private final BitSet notebook;
    private final MisjudgmentRate rate;
    private final int[] seeds;
    private final AtomicInteger useCount = new AtomicInteger();

    BloomFileter(MisjudgmentRate rate, int dataCount, Double autoClearRate) {
        this.rate = rate;
        this.seeds = rate.seeds;
        this.size = rate.seeds.length * dataCount;
        this.autoClearRate = autoClearRate;
        this.notebook = new BitSet(size);
    }

    private int position(String text, int seed) {
        int hash = 0;
        for (int i = 0; i < text.length(); i++) {
            hash = i * hash + text.charAt(i);
        }
        return Math.abs(hash * seed % size);
    }

    void add(String text) {
        for (int seed : seeds) {
            useCount.incrementAndGet();
            notebook.set(position(text, seed));
        }
    }

    boolean check(String text) {
        for (int seed : seeds) {
            if (!notebook.get(position(text, seed))) {
                return false;
            }
        }
        return true;
    }

    void clear() {
        notebook.clear();
        useCount.set(0);
    }

    private static void save(Path folder, String name, BloomFileter filter) throws Exception {
        var object = new ByteArrayOutputStream();
        try (var out = new ObjectOutputStream(object)) {
            out.writeObject(filter);
        }
        Keys.save(folder, name, object.toByteArray(), i -> filter.check(Keys.text(i)));
    }

    private static BloomFileter load(Path file) throws Exception {
        try (var in = new ObjectInputStream(Files.newInputStream(file))) {
            return (BloomFileter) in.readObject();
        }
    }

    /** Writes and reads one filter again and again between changes; each state is a file. */
    public static void main(String[] args) throws Exception {
        Path folder = Path.of(args[1]);
        if (args[0].equals("read")) {
            for (int step = 0; step < 7; step++) {
                String file = "ours-bloomfileter-" + step;
                BloomFileter filter = load(folder.resolve(file));
                Keys.compare(folder, file, i -> filter.check(Keys.text(i)));
            }
            return;
        }
        String name = "jvm-bloomfileter-";
        var filter = new BloomFileter(MisjudgmentRate.SMALL, 3_000, 0.9);
        save(folder, name + 0, filter);
        filter = load(folder.resolve(name + 0));
        filter.add("a");
        save(folder, name + 1, filter);
        filter = load(folder.resolve(name + 1));
        for (int i = 0; i < Keys.COUNT; i++) {
            if (Keys.member(i)) {
                filter.add(Keys.text(i));
            }
        }
        save(folder, name + 2, filter);
        filter = load(folder.resolve(name + 2));
        filter.clear();
        save(folder, name + 3, filter);
        filter = load(folder.resolve(name + 3));
        filter.add("b");
        save(folder, name + 4, filter);
        filter = load(folder.resolve(name + 4));
        for (int i = 0; i < 100; i++) {
            filter.add(Keys.text(i));
        }
        filter.clear();
        save(folder, name + 5, filter);
        filter = load(folder.resolve(name + 5));
        filter.add(Keys.text(7));
        save(folder, name + 6, filter);
    }
}
