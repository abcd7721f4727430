import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Opens the object of a class BloomFileter outside of any package. */
final class OpenBloomFileter {
    public static void main(String[] args) throws Exception {
        BloomFileter filter;
        try (var in = new ObjectInputStream(Files.newInputStream(Path.of(args[0])))) {
            filter = (BloomFileter) in.readObject();
        }
        Opened.extend(args, filter::check, filter::add);
        try (var out = new ObjectOutputStream(Files.newOutputStream(Opened.theirs(args)))) {
            out.writeObject(filter);
        }
    }
}
