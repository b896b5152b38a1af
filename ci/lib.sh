# Functions that the scripts in this folder share; sourced, never run.
# They use only features of bash 3.2, because that is the bash of macOS.

# Prints linux, macos, windows (Git Bash, MSYS2, Cygwin) or other.
system() {
    case "$(uname -s)" in
    Linux) echo linux ;;
    Darwin) echo macos ;;
    MINGW* | MSYS* | CYGWIN*) echo windows ;;
    *) echo other ;;
    esac
}

# Prints the package manager that install_packages uses: apt, dnf or none.
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

# install_packages PACKAGE...: installs packages of the operating system; with apt, it never removes a package.
# If this user cannot become root, prints the command to run instead and fails.
install_packages() {
    local manager
    manager=$(package_manager)
    case "$manager" in
    apt) set -- apt-get install -y --no-install-recommends --no-remove "$@" ;;
    dnf) set -- dnf install -y "$@" ;;
    *)
        echo "found no supported package manager; install these packages by hand: $*" >&2
        return 1
        ;;
    esac
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        echo "run this command as root, then start again: $*" >&2
        return 1
    fi
    echo "running: $*"
    if [ "$manager" = apt ]; then
        # A fresh image has no package lists. After a failed update, the existing lists may still be enough.
        as_root apt-get update -qq || echo "apt-get update failed; trying with the existing package lists" >&2
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

# Prints the oldest Rust that the workspace supports, from Cargo.toml.
required_rust() {
    sed -n 's/^rust-version *= *"\([0-9.]*\)".*/\1/p' Cargo.toml
}

# Prints how this user can run a command without a network: `user`, `root` or `sudo`, or `none` if there is no way. Some
# systems do not let users create user namespaces; then root creates the namespace and drops its privileges.
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

# without_network ISOLATION COMMAND...: runs a command as this user without a network, or with one if ISOLATION is none.
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

# passes KIND NAME: whether a command of this kind may see a variable. `measured` commands build and run measured code,
# `trusted` commands build the program that judges, and `fetch` commands fetch dependencies. It lists the variables that
# pass, because a list of those that do not could never be complete: each project chooses the names of its secrets.
# `passing` holds more names for measured code, separated by spaces.
passing=
passes() {
    case " $passing " in
    *" $2 "*) [ "$1" != measured ] || return 0 ;;
    esac
    # Credentials for registries and hosts of git, before any code of the change runs.
    case "$1 $2" in
    "fetch CARGO_REGISTR"* | "fetch SSH_AUTH_SOCK") return 0 ;;
    esac
    case "$2" in
    # Secrets, even if another pattern matches their names, and a URL that may contain a password.
    *TOKEN* | *SECRET* | *PASSW* | *CREDENTIAL* | *_KEY | *_AUTH* | PERFHARNESS_SOURCE) return 1 ;;
    # The user, the system, the language.
    PATH | HOME | USER | LOGNAME | SHELL | TMPDIR | TMP | TEMP | TZ | LANG | LANGUAGE | LC_* | TERM | COLORTERM | \
        NO_COLOR | CLICOLOR | CLICOLOR_FORCE) return ;;
    # The variables of Windows that every program there needs.
    SYSTEMROOT | SystemRoot | SYSTEMDRIVE | SystemDrive | WINDIR | windir | COMSPEC | ComSpec | PATHEXT | OS | MSYSTEM | \
        APPDATA | LOCALAPPDATA | USERPROFILE | HOMEDRIVE | HOMEPATH | PROGRAMDATA | ProgramData | PROGRAMFILES | \
        ProgramFiles | ProgramW6432 | CommonProgramFiles | NUMBER_OF_PROCESSORS | PROCESSOR_*) return ;;
    # The place, the toolchain and the output settings of Rust.
    CARGO_HOME | RUSTUP_HOME | RUSTUP_TOOLCHAIN | RUSTUP_AUTO_INSTALL | CARGO_TERM_*) return ;;
    # The mark of a CI job.
    CI | GITHUB_ACTIONS | GITLAB_CI) return ;;
    # Proxies, certificates and mirrors.
    http_proxy | https_proxy | all_proxy | no_proxy | HTTP_PROXY | HTTPS_PROXY | ALL_PROXY | NO_PROXY | SSL_CERT_FILE | \
        SSL_CERT_DIR | CURL_CA_BUNDLE | CARGO_HTTP_* | CARGO_NET_* | RUSTUP_DIST_SERVER | RUSTUP_UPDATE_ROOT) return ;;
    esac
    [ "$1" = measured ] || return 1
    case "$2" in
    # The gate chooses the folders that each side is built into.
    CARGO_TARGET_DIR | CARGO_BUILD_TARGET_DIR | CARGO_BUILD_BUILD_DIR | CARGO_INSTALL_ROOT) return 1 ;;
    # A wrapper of the compiler is not a part of the comparison; `--env` passes it.
    CARGO_BUILD_RUSTC*) return 1 ;;
    # Settings of the build, and places of libraries and devices. Both sides get the same.
    PERFHARNESS_* | CARGO_* | RUSTFLAGS | RUST_* | CC | CXX | AR | LD | CFLAGS | CXXFLAGS | CPPFLAGS | LDFLAGS | CC_* | \
        CXX_* | AR_* | CMAKE_* | PKG_CONFIG* | LD_LIBRARY_PATH | DYLD_LIBRARY_PATH | LIBRARY_PATH | CPATH | INCLUDE | LIB | \
        LIBPATH | SDKROOT | DEVELOPER_DIR | MACOSX_DEPLOYMENT_TARGET | PYTHONPATH | PYTHONHOME | VIRTUAL_ENV | JAVA_HOME | \
        GOPATH | GOROOT | NODE_PATH | XDG_* | DISPLAY | WAYLAND_DISPLAY | VK_* | WGPU_* | MESA_* | LIBGL_* | LP_* | CUDA_* | NVIDIA_* | HIP_* | ROCR_* | OMP_* | \
        OPENBLAS_* | MKL_* | NUMEXPR_* | RAYON_*) return ;;
    esac
    return 1
}

# environment_for KIND: fills the array `environment` with NAME=VALUE of all variables that pass, for `env -i`.
environment_for() {
    local name value
    environment=("PATH=$PATH")
    while IFS= read -r name; do
        if passes "$1" "$name"; then
            environment+=("$name=${!name}")
        fi
    done < <(compgen -e)
    # This is not a valid name in bash, but Microsoft's linker is found through it.
    if value=$(printenv 'ProgramFiles(x86)' 2>/dev/null); then
        environment+=("ProgramFiles(x86)=$value")
    fi
}

# sha256 FILE: prints the SHA-256 of a file.
sha256() {
    if command -v sha256sum >/dev/null; then
        sha256sum <"$1"
    else
        shasum -a 256 <"$1"
    fi | cut -d ' ' -f 1
}
