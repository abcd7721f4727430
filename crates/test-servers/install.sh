#!/bin/sh
# Installs the servers that the tests start, where they are missing. As root on Debian it installs
# them; else it lists the packages to install. No system service is started or left enabled.
#
#   sh crates/test-servers/install.sh [valkey]    (with Valkey as well)
set -eu

have() { command -v "$1" >/dev/null 2>&1; }
have_postgres() {
  have initdb && return
  for program in /usr/lib/postgresql/*/bin/initdb; do [ -x "$program" ] && return; done
  return 1
}

need=
have "${MAYHAP_REDIS_SERVER:-redis-server}" || need="$need redis-server"
have redis-cli && have redis-benchmark || need="$need redis-tools"
have curl || need="$need curl"
have_postgres || need="$need postgresql"
have setpriv || [ "$(uname)" != Linux ] || need="$need util-linux"
if [ "${1:-}" = valkey ]; then
  have valkey-server || need="$need valkey-server"
  have valkey-cli || need="$need valkey-tools"
fi
[ -n "$need" ] || exit 0

if [ "$(id -u)" != 0 ] || ! have apt-get; then
  echo "The tests start real servers, and some are missing. Install:$need" >&2
  echo "(on Debian: apt-get install --no-install-recommends$need)," >&2
  echo "or leave these tests out: make check MAYHAP_REQUIRE_SERVERS=0" >&2
  exit 1
fi

# Debian's packages start their service unless this file forbids it.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  trap 'rm -f "$policy"' EXIT
  trap 'exit 1' HUP INT TERM
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi
case $need in *valkey*)
  # Debian 12 has it only in its backports.
  if ! apt-cache show valkey-server >/dev/null 2>&1; then
    suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)-backports
    echo "deb http://deb.debian.org/debian $suite main" >/etc/apt/sources.list.d/backports.list
  fi ;;
esac
apt-get update -qq
# shellcheck disable=SC2086  # a list of words
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $need
# Nor should it start with the machine.
for service in redis-server valkey-server postgresql; do
  case "$need " in *" $service "*) ;; *) continue ;; esac
  ! have systemctl || systemctl disable --quiet "$service" \
    || echo "The service $service could not be disabled; it may start with the machine." >&2
done
