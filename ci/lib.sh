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

# passes KIND NAME: whether a command of this kind may see a variable. `measured` is what is built and measured, `trusted`
# what builds the program that judges, and `fetch` what fetches dependencies. It lists what passes, because no list of what
# does not could be whole: what a project calls its secrets is its own choice. `passing` has more names for what is
# measured, divided by spaces.
passing=
passes() {
    case " $passing " in
    *" $2 "*) [ "$1" != measured ] || return 0 ;;
    esac
    # What registries and hosts of git ask for, before any code of the change runs.
    case "$1 $2" in
    "fetch CARGO_REGISTR"* | "fetch SSH_AUTH_SOCK") return 0 ;;
    esac
    case "$2" in
    # Secrets, whatever else their names begin with; where the steps of a job leave variables for the next ones; and a
    # URL that may have a password in it.
    *TOKEN* | *SECRET* | *PASSW* | *CREDENTIAL* | *_KEY | *_AUTH* | PERFHARNESS_SOURCE) return 1 ;;
    # The user, the system, the language.
    PATH | HOME | USER | LOGNAME | SHELL | TMPDIR | TMP | TEMP | TZ | LANG | LANGUAGE | LC_* | TERM | COLORTERM | \
        NO_COLOR | CLICOLOR | CLICOLOR_FORCE) return ;;
    # Those of Windows, without which nothing starts there.
    SYSTEMROOT | SystemRoot | SYSTEMDRIVE | SystemDrive | WINDIR | windir | COMSPEC | ComSpec | PATHEXT | OS | MSYSTEM | \
        APPDATA | LOCALAPPDATA | USERPROFILE | HOMEDRIVE | HOMEPATH | PROGRAMDATA | ProgramData | PROGRAMFILES | \
        ProgramFiles | ProgramW6432 | CommonProgramFiles | NUMBER_OF_PROCESSORS | PROCESSOR_*) return ;;
    # Where Rust is, and which of them, and how it prints.
    CARGO_HOME | RUSTUP_HOME | RUSTUP_TOOLCHAIN | RUSTUP_AUTO_INSTALL | CARGO_TERM_*) return ;;
    # That this is a job.
    CI | GITHUB_ACTIONS | GITLAB_CI) return ;;
    # What stands between this machine and the network.
    http_proxy | https_proxy | all_proxy | no_proxy | HTTP_PROXY | HTTPS_PROXY | ALL_PROXY | NO_PROXY | SSL_CERT_FILE | \
        SSL_CERT_DIR | CURL_CA_BUNDLE | CARGO_HTTP_* | CARGO_NET_* | RUSTUP_DIST_SERVER | RUSTUP_UPDATE_ROOT) return ;;
    esac
    [ "$1" = measured ] || return 1
    case "$2" in
    # Each side is built into a folder of its own.
    CARGO_TARGET_DIR | CARGO_BUILD_TARGET_DIR | CARGO_BUILD_BUILD_DIR | CARGO_INSTALL_ROOT) return 1 ;;
    # A program in the place of the compiler is no part of what is compared; `--env` lets it pass.
    CARGO_BUILD_RUSTC*) return 1 ;;
    # How a project is built, and where its libraries and its devices are. Both sides get the same.
    PERFHARNESS_* | CARGO_* | RUSTFLAGS | RUST_* | CC | CXX | AR | LD | CFLAGS | CXXFLAGS | CPPFLAGS | LDFLAGS | CC_* | \
        CXX_* | AR_* | CMAKE_* | PKG_CONFIG* | LD_LIBRARY_PATH | DYLD_LIBRARY_PATH | LIBRARY_PATH | CPATH | INCLUDE | LIB | \
        LIBPATH | SDKROOT | DEVELOPER_DIR | MACOSX_DEPLOYMENT_TARGET | PYTHONPATH | PYTHONHOME | VIRTUAL_ENV | JAVA_HOME | \
        GOPATH | GOROOT | NODE_PATH | XDG_* | DISPLAY | WAYLAND_DISPLAY | VK_* | WGPU_* | MESA_* | LIBGL_* | LP_* | CUDA_* | NVIDIA_* | HIP_* | ROCR_* | OMP_* | \
        OPENBLAS_* | MKL_* | NUMEXPR_* | RAYON_*) return ;;
    esac
    return 1
}

# environment_for KIND: fills the array `environment` with NAME=VALUE of all that passes, for `env -i`.
environment_for() {
    local name value
    environment=("PATH=$PATH")
    while IFS= read -r name; do
        if passes "$1" "$name"; then
            environment+=("$name=${!name}")
        fi
    done < <(compgen -e)
    # No name in bash, and what Microsoft's linker is found by.
    if value=$(printenv 'ProgramFiles(x86)' 2>/dev/null); then
        environment+=("ProgramFiles(x86)=$value")
    fi
}

# The SHA-256 of a file.
sha256() {
    if command -v sha256sum >/dev/null; then
        sha256sum <"$1"
    else
        shasum -a 256 <"$1"
    fi | cut -d ' ' -f 1
}
