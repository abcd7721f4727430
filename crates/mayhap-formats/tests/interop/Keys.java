import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.IntPredicate;

/** The keys that both sides use: 10,000, of which every fifth is a member. */
final class Keys {
    static final int COUNT = 10_000;
    static final int MEMBERS = COUNT / 5;

    private static final String[] TAILS = {"", "é", "é中", "é中😀", "é中😀x", "x"};

    /** Lengths from 6 to 40 and more, characters of one to four bytes in UTF-8. */
    static String text(int i) {
        return "key:" + i + TAILS[i % 6] + "-".repeat(i % 31);
    }

    static long number(int i) {
        return (i - 5_000L) * 0x9E37_79B9_7F4AL;
    }

    static boolean member(int i) {
        return i % 5 == 0;
    }

    /** One character a key. */
    static String answers(IntPredicate contains) {
        StringBuilder answers = new StringBuilder();
        for (int i = 0; i < COUNT; i++) {
            answers.append(contains.test(i) ? '1' : '0');
        }
        return answers.toString();
    }

    static void save(Path folder, String name, byte[] bytes, IntPredicate contains)
            throws IOException {
        Files.write(folder.resolve(name), bytes);
        Files.writeString(folder.resolve(name + ".answers"), answers(contains));
    }

    /** Fails unless the other side's answers for its file are those of this side. */
    static void compare(Path folder, String name, IntPredicate contains) throws IOException {
        String theirs = Files.readString(folder.resolve(name + ".answers"), StandardCharsets.UTF_8);
        if (!theirs.equals(answers(contains))) {
            throw new IllegalStateException(name + ": other answers on the JVM");
        }
        System.out.println("interop " + name + ": " + COUNT + " answers agree on the JVM");
    }
}
