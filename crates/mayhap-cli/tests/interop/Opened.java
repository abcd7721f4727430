import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Consumer;
import java.util.function.Predicate;

/** A filter of the command that a system has opened: NAME, the list of members, that of more keys. */
final class Opened {
    private Opened() {
    }

    /** Counts the members that are found, in NAME.found, and adds the other keys. */
    static void extend(String[] args, Predicate<String> contains, Consumer<String> add)
            throws IOException {
        long found = Files.readAllLines(Path.of(args[1])).stream().filter(contains).count();
        Files.writeString(Path.of(args[0] + ".found"), found + "\n");
        Files.readAllLines(Path.of(args[2])).forEach(add);
    }

    /** Where the extended filter is written. */
    static Path theirs(String[] args) {
        return Path.of(args[0] + ".theirs");
    }
}
