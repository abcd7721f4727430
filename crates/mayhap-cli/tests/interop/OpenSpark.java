import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.spark.util.sketch.BloomFilter;

/** Opens a filter of texts with the Spark sketch jar that is on the class path. */
final class OpenSpark {
    public static void main(String[] args) throws Exception {
        BloomFilter filter;
        try (var in = Files.newInputStream(Path.of(args[0]))) {
            filter = BloomFilter.readFrom(in);
        }
        Opened.extend(args, filter::mightContainString, filter::putString);
        try (var out = Files.newOutputStream(Opened.theirs(args))) {
            filter.writeTo(out);
        }
    }
}
