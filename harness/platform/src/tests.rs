//! Tests. Some need another process: this test program starts itself again in one of the roles below.

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use super::*;

/// Tells a test below that it runs in the child of another test.
const ROLE: &str = "PERFHARNESS_PLATFORM_TEST_ROLE";
const MIB: u64 = 1 << 20;

/// Returns a command that starts this program in a role.
fn role(name: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test knows its program"));
    command.args(["--exact", "tests::a_child_plays_its_role", "--ignored", "--nocapture"]);
    command.env(ROLE, name).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn finished(name: &str) -> Output {
    role(name).output().expect("the child runs")
}

/// Reads a child's output up to the line with which it reports that it is ready.
fn until_ready(child: &mut Child) -> BufReader<std::process::ChildStdout> {
    let mut output = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let mut line = String::new();
    while !line.ends_with("READY\n") {
        line.clear();
        assert!(
            output.read_line(&mut line).expect("the child's output is text") > 0,
            "the child ended early"
        );
    }
    output
}

/// Reports to the parent that this child is ready, and waits until the parent closes this child's input.
fn ready_until_told() {
    println!("\nREADY");
    io::stdin().read_to_end(&mut Vec::new()).expect("stdin can be read");
}

#[test]
#[ignore = "runs as the child of another test"]
fn a_child_plays_its_role() {
    match env::var(ROLE).as_deref() {
        Some("takes-stdout") => takes_stdout(),
        Some("uses-memory-and-time") => {
            let memory = vec![1_u8; 32 * MIB as usize];
            black_box(&memory);
            work();
            ready_until_told();
        }
        Some("has-a-child") => {
            let mut grandchild =
                role("waits").stdin(Stdio::inherit()).stdout(Stdio::inherit()).spawn().expect("spawns");
            grandchild.wait().expect("waits");
        }
        #[expect(clippy::zombie_processes, reason = "that is this role")]
        Some("leaves-a-child-behind") => {
            role("waits").stdin(Stdio::inherit()).stdout(Stdio::inherit()).spawn().expect("spawns");
            end(5);
        }
        Some("binds-a-child") => {
            let mut command = role("has-a-child");
            command.stdin(Stdio::inherit()).stdout(Stdio::inherit());
            let child = spawn_bound(command).expect("spawns");
            std::thread::sleep(Duration::from_hours(1));
            drop(child);
        }
        Some("fails-to-bind") => {
            spawn_bound(Command::new("/surely/absent")).expect_err("there is no such program");
            let mut command = role("exits-with-3");
            command.stdout(Stdio::null());
            let mut child = spawn_bound(command).expect("spawns");
            while !has_ended(&mut child).expect("can be asked") {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(has_ended(&mut child).expect("can be asked"), "asking does not wait for it");
            kill_tree(&mut child).expect("can be killed");
            assert!(has_ended(&mut child).expect("can be asked"), "one that was waited for has ended");
            let exit = exit_of(child.wait().expect("was waited for"));
            assert_eq!(exit, Exit::Code(3), "killing what has ended changes nothing");
        }
        Some("waits") => ready_until_told(),
        Some("exits-with-3") => end(3),
        Some("aborts") => std::process::abort(),
        other => panic!("unknown role {other:?}"),
    }
}

#[expect(clippy::exit, reason = "the code with which this child ends is what its parent tests")]
fn end(code: i32) {
    std::process::exit(code);
}

fn takes_stdout() {
    print!("BEGIN\nbuffered before, "); // Belongs to the real output, though Rust has not written it yet.
    let mut real = take_stdout().expect("stdout can be taken");
    println!("garbage from Rust");
    c_code_writes();
    real.write_all(b"{\"frame\":1}\n").expect("the pipe is open");
    let status = Command::new(std::env::current_exe().expect("a test knows its program"))
        .arg("--list")
        .status()
        .expect("a child with inherited output runs");
    assert!(status.success());
    real.write_all(b"{\"frame\":2}\n").expect("the pipe is open");
    let mut second = take_stdout().expect("stdout can be taken twice");
    second.write_all(b"garbage from the second\n").expect("stderr is open");
}

#[cfg(unix)]
#[expect(unsafe_code, reason = "C code is what is tested")]
fn c_code_writes() {
    // SAFETY: the strings end with a zero byte, and the length is that of the text.
    unsafe {
        libc::printf(c"garbage from printf\n".as_ptr());
        libc::write(1, c"garbage from write\n".as_ptr().cast(), 19);
    }
}

#[cfg(not(unix))]
fn c_code_writes() {}

#[test]
fn taken_stdout_carries_the_frames_and_nothing_else() {
    let output = finished("takes-stdout");
    let stdout = String::from_utf8(output.stdout).expect("text");
    let stderr = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success(), "{stderr}");
    let (_, after) = stdout.split_once("BEGIN\n").expect("the child began");
    assert_eq!(after, "buffered before, {\"frame\":1}\n{\"frame\":2}\n");
    for garbage in ["Rust", "the second"] {
        assert!(stderr.contains(&format!("garbage from {garbage}\n")), "{garbage}: {stderr}");
    }
    assert!(stderr.contains("taken_stdout_carries"), "the grandchild's list of tests: {stderr}");
    if cfg!(unix) {
        for garbage in ["printf", "write"] {
            assert!(stderr.contains(&format!("garbage from {garbage}\n")), "{garbage}: {stderr}");
        }
    }
}

#[test]
fn the_monotonic_clock_never_goes_back() {
    let mut last = clock::monotonic_ns();
    assert!(last > 0);
    for _ in 0..100_000 {
        let reading = clock::monotonic_ns();
        assert!(reading >= last);
        last = reading;
    }
}

#[test]
fn the_monotonic_clock_and_instants_run_at_one_pace() {
    let (instant, reading) = (clock::now(), clock::monotonic_ns());
    std::thread::sleep(Duration::from_millis(20));
    let inner = clock::monotonic_ns() - reading;
    let outer = instant.elapsed().as_nanos() as u64;
    // The inner pair was read within the outer pair, both around the sleep.
    assert!(inner >= 19_000_000, "{inner}");
    assert!(inner <= outer + 1_000, "{inner} {outer}");
}

#[test]
fn the_resolution_is_positive_and_below_a_tick() {
    let resolution = clock::resolution_ns();
    assert!((1..20_000_000).contains(&resolution), "{resolution}");
}

#[test]
fn unix_time_is_after_this_was_written() {
    assert!(clock::unix_ms() > 1_735_689_600_000);
}

#[test]
fn an_absent_variable_is_neither_there_nor_set() {
    assert_eq!(env::var("PERFHARNESS_PLATFORM_SURELY_ABSENT"), None);
    assert!(!env::is_set_nonempty("PERFHARNESS_PLATFORM_SURELY_ABSENT"));
    assert!(env::is_set_nonempty("PATH"));
}

/// Works long enough for several ticks of the coarsest CPU clock.
fn work() {
    let start = clock::now();
    let mut x = 1_u64;
    while start.elapsed() < Duration::from_millis(100) {
        for _ in 0..100_000 {
            x = black_box(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
    black_box(x);
}

#[test]
fn cpu_time_of_this_process_grows_with_work() {
    let before = self_usage();
    work();
    let after = self_usage();
    assert!(after.cpu_ns.expect("told everywhere") > before.cpu_ns.expect("told everywhere"));
    if cfg!(unix) {
        assert!(
            after.involuntary_switches.expect("told on Unix")
                >= before.involuntary_switches.expect("told on Unix")
        );
        assert!(after.major_faults.expect("told on Unix") >= before.major_faults.expect("told on Unix"));
    }
}

#[test]
fn memory_and_time_of_a_child_are_told() {
    let mut child = role("uses-memory-and-time").spawn().expect("spawns");
    let output = until_ready(&mut child);
    let usage = process_usage(&child);
    drop(child.stdin.take());
    drop(output);
    child.wait().expect("waits");
    if cfg!(any(target_os = "linux", target_os = "macos", windows)) {
        let peak = usage.peak_rss_bytes.expect("told here");
        assert!((32 * MIB..256 * MIB).contains(&peak), "{peak}");
        assert!(usage.rss_bytes.expect("told here") >= 32 * MIB);
        assert!(usage.cpu_ns.expect("told here") > 0);
    } else {
        assert_eq!(usage, ProcessUsage::default());
    }
    if cfg!(unix) {
        assert_eq!(process_usage(&child), ProcessUsage::default(), "nothing about an id that is free again");
    }
}

#[test]
fn peak_memory_of_this_process_is_a_high_water_mark() {
    let memory = vec![1_u8; 16 * MIB as usize];
    black_box(&memory);
    let high = self_peak_rss_bytes();
    drop(memory);
    let after = self_peak_rss_bytes();
    if cfg!(any(target_os = "linux", target_os = "macos", windows)) {
        assert!(high.expect("told here") >= 16 * MIB);
        assert!(after.expect("told here") >= 16 * MIB);
    }
}

#[test]
fn machine_counters_never_fall_and_suspension_is_steady() {
    let first = machine_counters();
    for _ in 0..1_000 {
        let next = machine_counters();
        assert!(next.steal_ns >= first.steal_ns);
        assert!(next.throttle_events >= first.throttle_events);
        assert_eq!(next.suspended_ns, first.suspended_ns);
    }
    if cfg!(target_os = "linux") {
        assert!(first.steal_ns.is_some());
    }
    if cfg!(any(target_os = "linux", target_os = "macos", windows)) {
        assert!(first.suspended_ns.is_some());
    }
}

/// Whether the output ends, which happens only when the last process that holds it has ended.
fn all_have_ended(mut output: BufReader<std::process::ChildStdout>) -> bool {
    let (done, wait) = mpsc::channel();
    std::thread::spawn(move || done.send(output.read_to_end(&mut Vec::new()).is_ok()));
    wait.recv_timeout(Duration::from_secs(30)).unwrap_or(false)
}

#[test]
fn killing_a_tree_kills_the_grandchild_too() {
    let mut command = role("has-a-child");
    detach_from_terminal(&mut command);
    let mut child = command.spawn().expect("spawns");
    let output = until_ready(&mut child); // The grandchild said so.
    let _open = child.stdin.take();
    kill_tree(&mut child).expect("kills");
    let exit = exit_of(child.wait().expect("was waited for"));
    assert!(!exit.is_success());
    assert_eq!(exit.is_kill(), cfg!(unix));
    assert!(all_have_ended(output));
}

#[test]
fn killing_a_tree_whose_root_has_ended_kills_what_it_left_and_keeps_its_exit() {
    let mut command = role("leaves-a-child-behind");
    detach_from_terminal(&mut command);
    let mut child = command.spawn().expect("spawns");
    let mut errors = child.stderr.take().expect("stderr is piped");
    let output = until_ready(&mut child);
    let _open = child.stdin.take();
    // The child's own end of this pipe closes when the child ends.
    errors.read_to_end(&mut Vec::new()).expect("stderr can be read");
    kill_tree(&mut child).expect("kills");
    assert!(all_have_ended(output));
    let exit = exit_of(child.wait().expect("was waited for"));
    assert!(exit == Exit::Code(5) || cfg!(windows), "{exit}");
}

#[test]
fn a_bound_child_and_what_it_started_end_with_their_parent_however_it_ends() {
    let mut parent = role("binds-a-child").spawn().expect("spawns");
    let output = until_ready(&mut parent); // The grandchild said so.
    let _open = parent.stdin.take();
    parent.kill().expect("kills");
    parent.wait().expect("waits");
    assert!(all_have_ended(output));
}

#[test]
fn an_end_is_seen_without_waiting_and_a_failed_start_leaves_nothing_behind() {
    let output = finished("fails-to-bind");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_this_process_made_is_its_own() {
    let own = std::env::current_exe().and_then(std::fs::metadata).expect("a test knows its program");
    assert!(is_own(&own));
}

#[test]
fn killing_a_child_without_a_group_kills_the_child() {
    let mut child = role("waits").spawn().expect("spawns");
    let output = until_ready(&mut child);
    let _open = child.stdin.take();
    kill_tree(&mut child).expect("kills");
    assert!(all_have_ended(output));
    kill_tree(&mut child).expect("does nothing the second time");
}

#[test]
fn an_exit_code_is_told_as_such() {
    let exit = exit_of(finished("exits-with-3").status);
    assert_eq!(exit, Exit::Code(3));
    assert_eq!(exit.to_string(), "exit code 3");
    assert!(!exit.is_abort() && !exit.is_kill() && !exit.is_success());
}

#[test]
fn an_abort_is_recognized() {
    let exit = exit_of(finished("aborts").status);
    assert!(exit.is_abort(), "{exit}");
    assert!(!exit.is_kill());
}

#[cfg(unix)]
#[test]
fn a_signal_is_told_by_number_and_name() {
    for (signal, text) in [("SEGV", "signal 11 (SIGSEGV)"), ("KILL", "signal 9 (SIGKILL)")] {
        let status = Command::new("sh").args(["-c", &format!("kill -{signal} $$")]).status().expect("runs");
        let exit = exit_of(status);
        assert_eq!(exit.to_string(), text);
        assert_eq!(exit.is_kill(), signal == "KILL");
        assert!(!exit.is_abort());
    }
}

#[test]
fn exits_read_the_same_everywhere() {
    let exception = Exit::Exception { code: 0xC000_0005, name: Some("access violation") };
    assert_eq!(exception.to_string(), "exception 0xC0000005 (access violation)");
    assert_eq!(Exit::Exception { code: 0x8000_0001, name: None }.to_string(), "exception 0x80000001");
    assert_eq!(Exit::Signal { number: 42, name: None }.to_string(), "signal 42");
    assert_eq!(Exit::Code(-1).to_string(), "exit code -1");
    assert!(Exit::Exception { code: FAST_FAIL, name: None }.is_abort());
}

#[cfg(windows)]
#[test]
fn windows_codes_are_told_from_exceptions() {
    use std::os::windows::process::ExitStatusExt as _;
    let exit = |code| exit_of(ExitStatus::from_raw(code));
    assert_eq!(exit(0xC000_0005).to_string(), "exception 0xC0000005 (access violation)");
    assert_eq!(exit(0xE06D_7363).to_string(), "exception 0xE06D7363 (C++ exception)");
    assert_eq!(exit(0xFFFF_FFFF), Exit::Code(-1));
    assert_eq!(exit(101), Exit::Code(101));
}

#[test]
fn memory_is_limited_where_that_is_said() {
    let mut child = role("waits").spawn().expect("spawns");
    assert_eq!(limit_memory(&child, 1 << 40), can_limit_memory());
    kill_tree(&mut child).expect("can be killed");
}

#[test]
fn directories_can_be_flushed() {
    sync_directory(&std::env::temp_dir()).expect("flushes");
    sync_directory(Path::new("")).expect("the present directory");
    if cfg!(unix) {
        assert!(sync_directory(Path::new("/surely/absent")).is_err());
    }
}

#[test]
fn facts_of_the_machine_are_plausible_or_absent() {
    assert!(governor().is_none_or(|name| !name.is_empty() && name.trim() == name));
    assert!(cpu_frequency_hz().is_none_or(|hertz| hertz > 1_000_000));
    let _ = turbo();
    if cfg!(target_os = "linux") {
        assert!(aslr().is_some());
    } else {
        assert_eq!(aslr(), None);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn kernel_texts_are_read_by_their_format() {
    use crate::linux::{queue_wait, stat_cpu_ticks, status_bytes, steal_ticks};
    assert_eq!(status_bytes("Name:\tx\nVmHWM:\t    1740 kB\nVmRSS:\t 3 kB\n", "VmHWM:"), Some(1740 * 1024));
    assert_eq!(status_bytes("Name:\tx\n", "VmHWM:"), None);
    let stat = "7 (a) (b c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14";
    assert_eq!(stat_cpu_ticks(stat), Some(11 + 12));
    assert_eq!(stat_cpu_ticks("7 (x"), None);
    assert_eq!(steal_ticks("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1\n"), Some(8));
    assert_eq!(queue_wait("120 45 6\n"), Some(45));
    assert_eq!(queue_wait("120"), None);
    assert_eq!(steal_ticks("cpu  1 2 3 4\n"), None, "kernels before 2.6.11 do not tell");
}
