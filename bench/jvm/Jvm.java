import java.nio.charset.StandardCharsets;
import java.util.function.IntPredicate;

/** What the contestants share: keys, and a loop that warms up and takes the best of its rounds. */
final class Jvm {
    static final int KEYS = 1 << 16;
    private static final long WARM_UP_NS = 3_000_000_000L;
    private static final long ROUND_NS = 200_000_000L;

    static String text(long i) {
        return "https://example.com/user/" + i;
    }

    static byte[] bytes(long i) {
        return text(i).getBytes(StandardCharsets.UTF_8);
    }

    /** The j-th key that is in a filter of n keys, or that is not. */
    static long index(boolean hit, int j, long n) {
        return hit ? j * 7919L % n : n + j;
    }

    /** Prints `hit|miss ns-per-key keys-found`. */
    static void measure(boolean hit, int rounds, IntPredicate contains) {
        int found = pass(contains);
        for (long begin = System.nanoTime(); System.nanoTime() - begin < WARM_UP_NS; ) {
            found = pass(contains);
        }
        double best = Double.MAX_VALUE;
        for (int round = 0; round < rounds; round++) {
            long keys = 0;
            long begin = System.nanoTime();
            long end;
            do {
                if (pass(contains) != found) {
                    throw new IllegalStateException("another answer");
                }
                keys += KEYS;
                end = System.nanoTime();
            } while (end - begin < ROUND_NS);
            best = Math.min(best, (double) (end - begin) / keys);
        }
        System.out.println((hit ? "hit " : "miss ") + best + " " + found);
    }

    private static int pass(IntPredicate contains) {
        int found = 0;
        for (int j = 0; j < KEYS; j++) {
            if (contains.test(j)) {
                found++;
            }
        }
        return found;
    }
}
