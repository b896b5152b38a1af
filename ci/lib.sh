# Functions that the scripts in this folder share; sourced, never run.
# Kept to what bash 3.2 understands, because that is the bash of macOS.

# linux, macos, windows (Git Bash, MSYS2, Cygwin) or other.
system() {
    case "$(uname -s)" in
    Linux) echo linux ;;
    Darwin) echo macos ;;
    MINGW* | MSYS* | CYGWIN*) echo windows ;;
    *) echo other ;;
    esac
}

# The package manager that install_packages drives: apt, dnf or none.
package_manager() {
    if command -v apt-get >/dev/null; then
        echo apt
    elif command -v dnf >/dev/null; then
        echo dnf
    else
        echo none
    fi
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo "$@"
    fi
}

# install_packages PACKAGE...: installs packages of the operating system, and with apt never removes one to do so.
# Where this user cannot become root, prints what to run instead and fails.
install_packages() {
    local manager
    manager=$(package_manager)
    case "$manager" in
    apt) set -- apt-get install -y --no-install-recommends --no-remove "$@" ;;
    dnf) set -- dnf install -y "$@" ;;
    *)
        echo "no known package manager; install by hand: $*" >&2
        return 1
        ;;
    esac
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        echo "run as root, then start again: $*" >&2
        return 1
    fi
    echo "running: $*"
    if [ "$manager" = apt ]; then
        # A fresh image has no package lists. A failed update is no reason to stop: the lists at hand may do.
        as_root apt-get update -qq || echo "apt-get update failed; trying with the package lists at hand" >&2
        set -- env DEBIAN_FRONTEND=noninteractive "$@" -qq -o Dpkg::Use-Pty=0
    fi
    as_root "$@"
}

# at_least HAVE WANT: compares the first two numbers of versions such as 1.95.0 and 1.95.
at_least() {
    local have_major have_minor want_major want_minor
    IFS=. read -r have_major have_minor _ <<<"$1.0.0"
    IFS=. read -r want_major want_minor _ <<<"$2.0.0"
    [ "$have_major" -gt "$want_major" ] ||
        { [ "$have_major" -eq "$want_major" ] && [ "$have_minor" -ge "$want_minor" ]; }
}

# The oldest Rust that the workspace supports, from Cargo.toml.
required_rust() {
    sed -n 's/^rust-version *= *"\([0-9.]*\)".*/\1/p' Cargo.toml
}

# How this user can take the network from a command: `user`, `root` or `sudo`, or `none` where there is no way. User
# namespaces are closed to users on some systems, and then root makes the namespace and steps down.
network_isolation() {
    if ! command -v unshare >/dev/null; then
        echo none
    elif unshare --user --map-current-user --net true 2>/dev/null; then
        echo user
    elif [ "$(id -u)" -eq 0 ] && unshare --net true 2>/dev/null; then
        echo root
    elif sudo -n unshare --net true 2>/dev/null; then
        echo sudo
    else
        echo none
    fi
}

# without_network ISOLATION COMMAND...: runs a command as this user without a network; with one if ISOLATION is none.
without_network() {
    local isolation=$1
    shift
    case "$isolation" in
    user) unshare --user --map-current-user --net "$@" ;;
    root) unshare --net "$@" ;;
    # sudo sets its own PATH and HOME, even when it keeps the rest.
    sudo)
        sudo -n -E unshare --net setpriv --reuid "$(id -u)" --regid "$(id -g)" --init-groups \
            env "PATH=$PATH" "HOME=$HOME" "$@"
        ;;
    none) "$@" ;;
    esac
}
