# For Homebrew; packaging/dist.sh fills in the version and the hash of the crate.
class Mayhap < Formula
  desc "Bloom filters for lines, files and servers"
  homepage "https://crates.io/crates/mayhap"
  url "https://static.crates.io/crates/mayhap-cli/mayhap-cli-@VERSION@.crate"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args
    system bin/"mayhap", "man", "--out", man1
    generate_completions_from_executable(bin/"mayhap", "completions")
  end

  service do
    run [opt_bin/"mayhap", "serve", "--data", var/"mayhap"]
    keep_alive true
  end

  test do
    assert_equal "a\nb\n", pipe_output("#{bin}/mayhap dedup -q", "a\nb\na\n")
  end
end
