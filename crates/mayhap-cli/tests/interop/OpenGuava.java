import com.google.common.hash.BloomFilter;
import com.google.common.hash.Funnels;
import java.nio.file.Files;
import java.nio.file.Path;

/** Opens a filter of longs with the Guava that is on the class path. */
final class OpenGuava {
    public static void main(String[] args) throws Exception {
        BloomFilter<Long> filter;
        try (var in = Files.newInputStream(Path.of(args[0]))) {
            filter = BloomFilter.readFrom(in, Funnels.longFunnel());
        }
        Opened.extend(args, key -> filter.mightContain(Long.valueOf(key)),
                key -> filter.put(Long.valueOf(key)));
        try (var out = Files.newOutputStream(Opened.theirs(args))) {
            filter.writeTo(out);
        }
    }
}
