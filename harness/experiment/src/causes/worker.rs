//! The program: it sums orders by customer and writes a report. Each cause is a mistake that somebody could make in it.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs::File;
use std::hash::{BuildHasherDefault, Hasher, RandomState};
use std::hint::black_box;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Mutex;

use clap::ValueEnum;
use perfharness_contract::{Case, Check, Failure, Measured, Role, Setup, Workload, input_rng};
use rand_pcg::rand_core::Rng as _;

pub(super) const WORKLOAD: &str = "orders";
const ORDERS: usize = 400;
const CUSTOMERS: u64 = 60;

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Cause {
    /// None.
    None,
    /// The checksum is computed twice.
    MoreWork,
    /// Customers are looked up one after the other.
    LinearSearch,
    /// Rows are sorted by insertion.
    InsertionSort,
    /// Each field becomes a text of its own.
    AllocationPerItem,
    /// A small function is called.
    LostInline,
    /// The hash of the standard library.
    SlowerHash,
    /// A line of a log for each customer.
    LogLine,
    /// The input is copied first.
    Copy,
    /// The input is checked again for each order.
    Validation,
    /// Names are made lower case twice.
    NormalisedTwice,
    /// A vector that grows from nothing.
    GrowingVector,
    /// A closure behind a pointer, for each field.
    DynamicCall,
    /// The line of each order is looked for from the beginning.
    ScanAgain,
    /// Texts are joined into a new one each time.
    JoinByCopy,
    /// Amounts are read as floating-point numbers.
    FloatParsing,
    /// A tree in place of a hash table.
    TreeMap,
    /// A lock for each order.
    LockPerItem,
    /// Keys are copied while sorting.
    KeyCopies,
    /// A buffer is cleared for each row.
    ClearedBuffer,
    /// Each row is written by itself.
    WritePerItem,
}

impl Cause {
    pub(super) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Parts of the names of functions and figures that point at it.
    pub(super) fn names(self) -> &'static [&'static str] {
        match self {
            Self::None => &[],
            Self::MoreWork => &["checksum"],
            Self::LinearSearch => &["linear", "lookup"],
            Self::InsertionSort => &["insertion", "sort"],
            Self::AllocationPerItem => &["alloc", "heap"],
            Self::LostInline => &["scale"],
            Self::SlowerHash => &["hash", "sip"],
            Self::LogLine => &["log_line", "fmt"],
            Self::Copy => &["memcpy", "memmove", "copy", "heap"],
            Self::Validation => &["validate", "utf8"],
            Self::NormalisedTwice => &["normalise"],
            Self::GrowingVector => &["grow", "realloc", "heap"],
            Self::DynamicCall => &["visit", "closure"],
            Self::ScanAgain => &["line_at"],
            Self::JoinByCopy => &["join", "memcpy", "memmove", "heap"],
            Self::FloatParsing => &["parse", "dec2flt"],
            Self::TreeMap => &["btree"],
            Self::LockPerItem => &["lock", "add_locked"],
            Self::KeyCopies => &["clone", "alloc", "heap", "sort"],
            Self::ClearedBuffer => &["memset", "calloc", "alloc", "heap"],
            Self::WritePerItem => &["write"],
        }
    }
}

/// Serves the program with a mistake.
pub(crate) fn serve(cause: Cause) -> ExitCode {
    let prepare = move |(): &(), setup: &Setup| Orders::new(cause, setup);
    let workload = Workload::builder(WORKLOAD, 1, "sums orders by customer")
        .cases([Case::new("n400", ())])
        .variant("report", Role::Other, "reads, sums, sorts and writes", prepare)
        .build();
    perfharness_contract::serve(vec![workload])
}

struct Orders {
    cause: Cause,
    seed: u64,
    round: u64,
    text: String,
    report: String,
    sum: u64,
    locked: Mutex<u64>,
    sink: File,
}

impl Orders {
    fn new(cause: Cause, setup: &Setup) -> Result<Self, Failure> {
        Ok(Self {
            cause,
            seed: setup.seed(),
            round: 0,
            text: String::new(),
            report: String::new(),
            sum: 0,
            locked: Mutex::new(0),
            sink: File::create(setup.scratch().join("sink"))?,
        })
    }
}

impl Measured for Orders {
    fn load(&mut self, round: u64) -> Result<(), Failure> {
        self.round = round;
        let mut rng = input_rng(self.seed, WORKLOAD, round);
        self.text.clear();
        for order in 0..ORDERS {
            let (customer, cents) = (rng.next_u64() % CUSTOMERS, rng.next_u64() % 1_000_000);
            let _ = writeln!(self.text, "{order};Customer-{customer:04};{cents}");
        }
        Ok(())
    }

    fn run(&mut self, _: u64) -> Result<(), Failure> {
        let text = match self.cause {
            Cause::Copy => copy(&self.text),
            _ => std::mem::take(&mut self.text),
        };
        self.report.clear();
        let rows = sums(self.cause, &text, &self.locked);
        let rows = sorted(self.cause, rows);
        write_rows(self.cause, &rows, &mut self.report, &mut self.sink)?;
        self.sum = checksum(self.report.as_bytes());
        if self.cause == Cause::MoreWork {
            self.sum ^= checksum(black_box(self.report.as_bytes())) & 1;
        }
        if self.cause != Cause::Copy {
            self.text = text;
        }
        Ok(())
    }

    fn check(&mut self, _: u64) -> Result<Check, Failure> {
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for line in self.text.lines() {
            let fields: Vec<&str> = line.split(';').collect();
            let cents: u64 = fields[2].parse().unwrap_or(0);
            *sums.entry(fields[1].to_lowercase()).or_default() += cents + cents / 5;
        }
        let mut rows: Vec<(String, u64)> = sums.into_iter().collect();
        rows.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        let due = rows.iter().fold(String::new(), |mut text, (name, cents)| {
            let _ = writeln!(text, "{name}: {cents}");
            text
        });
        let passed = self.report == due;
        Ok(Check { passed, message: (!passed).then(|| "another report".into()), ..Check::default() })
    }
}

#[inline(never)]
fn copy(text: &str) -> String {
    // Often, as a program does that passes texts on by value.
    (0..8).fold(text.to_owned(), |text, _| black_box(text.clone()))
}

/// A hash that is fast and good enough for short names.
#[derive(Default)]
struct Fast(u64);

impl Hasher for Fast {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// The sums by customer.
enum Table {
    Fast(HashMap<String, u64, BuildHasherDefault<Fast>>),
    Slow(HashMap<String, u64, RandomState>),
    Tree(BTreeMap<String, u64>),
    List(Vec<(String, u64)>),
}

#[inline(never)]
fn sums(cause: Cause, text: &str, locked: &Mutex<u64>) -> Vec<(String, u64)> {
    let mut table = match cause {
        Cause::SlowerHash => {
            Table::Slow(HashMap::with_capacity_and_hasher(CUSTOMERS as usize, RandomState::new()))
        }
        Cause::TreeMap => Table::Tree(BTreeMap::new()),
        Cause::LinearSearch => Table::List(Vec::with_capacity(CUSTOMERS as usize)),
        Cause::GrowingVector => Table::Fast(HashMap::default()),
        _ => {
            Table::Fast(HashMap::with_capacity_and_hasher(CUSTOMERS as usize, BuildHasherDefault::default()))
        }
    };
    let mut name = String::with_capacity(32);
    let visit: Box<dyn Fn(&str) -> usize> = Box::new(visit);
    let mut rest = text;
    let mut number = 0;
    while let Some((line, after)) = divided(rest, b'\n') {
        rest = after;
        let line = if cause == Cause::ScanAgain { line_at(text, number).unwrap_or(line) } else { line };
        number += 1;
        if cause == Cause::Validation {
            validate(line);
        }
        let Some((_, fields)) = divided(line, b';') else { continue };
        let Some((customer, amount)) = divided(fields, b';') else { continue };
        if cause == Cause::DynamicCall {
            black_box(visit(customer) + visit(amount));
        }
        let owned = (cause == Cause::AllocationPerItem).then(|| allocated(customer, amount));
        let (customer, amount) =
            owned.as_ref().map_or((customer, amount), |(customer, amount)| (customer, amount));
        normalise(customer, &mut name);
        if cause == Cause::NormalisedTwice {
            let again = black_box(name.clone());
            normalise(&again, &mut name);
        }
        let cents = if cause == Cause::FloatParsing { parse_float(amount) } else { parse(amount) };
        let cents = if cause == Cause::LostInline { called_scale(cents) } else { scale(cents) };
        if cause == Cause::LockPerItem {
            add_locked(locked, cents);
        }
        add(&mut table, &name, cents);
    }
    match table {
        Table::Fast(all) => collected(cause, all),
        Table::Slow(all) => collected(cause, all),
        Table::Tree(all) => collected(cause, all),
        Table::List(all) => collected(cause, all),
    }
}

#[inline(never)]
fn collected(cause: Cause, all: impl IntoIterator<Item = (String, u64)>) -> Vec<(String, u64)> {
    let mut rows =
        if cause == Cause::GrowingVector { Vec::new() } else { Vec::with_capacity(CUSTOMERS as usize) };
    for row in all {
        rows.push(row);
    }
    rows
}

fn divided(text: &str, at: u8) -> Option<(&str, &str)> {
    let place = text.find(char::from(at))?;
    Some((&text[..place], &text[place + 1..]))
}

#[inline(never)]
fn line_at(text: &str, number: usize) -> Option<&str> {
    text.split('\n').nth(number)
}

#[inline(never)]
fn validate(line: &str) {
    black_box(std::str::from_utf8(black_box(line.as_bytes())).is_ok());
    black_box(line.chars().filter(|c| c.is_alphanumeric()).count());
}

#[inline(never)]
fn allocated(customer: &str, amount: &str) -> (String, String) {
    (customer.to_owned(), amount.to_owned())
}

#[inline(never)]
fn visit(field: &str) -> usize {
    field.bytes().filter(|byte| black_box(*byte) == b'-').count()
}

#[inline(never)]
fn normalise(customer: &str, name: &mut String) {
    name.clear();
    name.extend(customer.chars().map(|c| c.to_ascii_lowercase()));
}

#[inline(never)]
fn parse(amount: &str) -> u64 {
    amount.bytes().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))
}

#[inline(never)]
fn parse_float(amount: &str) -> u64 {
    black_box(amount).parse::<f64>().unwrap_or(0.0) as u64
}

fn scale(cents: u64) -> u64 {
    cents + cents / 5
}

#[inline(never)]
fn called_scale(cents: u64) -> u64 {
    (0..20).fold(black_box(cents), |cents, _| black_box(cents));
    scale(cents)
}

#[inline(never)]
fn add_locked(locked: &Mutex<u64>, cents: u64) {
    if let Ok(mut sum) = locked.lock() {
        *sum = sum.wrapping_add(cents);
    }
}

#[inline(never)]
fn add(table: &mut Table, name: &str, cents: u64) {
    let sum = match table {
        Table::Fast(all) => all.get_mut(name),
        Table::Slow(all) => all.get_mut(name),
        Table::Tree(all) => all.get_mut(name),
        Table::List(all) => lookup(all, name),
    };
    if let Some(sum) = sum {
        *sum += cents;
        return;
    }
    let name = name.to_owned();
    match table {
        Table::Fast(all) => drop(all.insert(name, cents)),
        Table::Slow(all) => drop(all.insert(name, cents)),
        Table::Tree(all) => drop(all.insert(name, cents)),
        Table::List(all) => all.push((name, cents)),
    }
}

#[inline(never)]
fn lookup<'a>(all: &'a mut [(String, u64)], name: &str) -> Option<&'a mut u64> {
    all.iter_mut().find(|(known, _)| known == name).map(|(_, sum)| sum)
}

#[inline(never)]
fn sorted(cause: Cause, mut rows: Vec<(String, u64)>) -> Vec<(String, u64)> {
    match cause {
        Cause::InsertionSort => insertion_sort(&mut rows),
        Cause::KeyCopies => rows.sort_by_key(|(name, cents)| (u64::MAX - cents, name.clone())),
        _ => rows.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0))),
    }
    rows
}

#[inline(never)]
fn insertion_sort(rows: &mut [(String, u64)]) {
    for end in 1..rows.len() {
        let mut at = end;
        while at > 0 && rows[at - 1].1 < rows[at].1 {
            rows.swap(at - 1, at);
            at -= 1;
        }
    }
}

#[inline(never)]
fn write_rows(
    cause: Cause,
    rows: &[(String, u64)],
    report: &mut String,
    sink: &mut File,
) -> Result<(), Failure> {
    for (name, cents) in rows {
        if cause == Cause::ClearedBuffer {
            black_box(vec![0_u8; 4_096]);
        }
        if cause == Cause::LogLine {
            log_line(name, *cents);
        }
        if cause == Cause::JoinByCopy {
            *report = join(report, name, *cents);
        } else {
            let _ = writeln!(report, "{name}: {cents}");
        }
        if cause == Cause::WritePerItem {
            write_row(sink, name)?;
        }
    }
    Ok(())
}

#[inline(never)]
fn join(report: &str, name: &str, cents: u64) -> String {
    format!("{report}{name}: {cents}\n")
}

#[inline(never)]
fn log_line(name: &str, cents: u64) {
    black_box(format!("the customer {name} has ordered for {:.2}", cents as f64 / 100.0));
}

#[inline(never)]
fn write_row(sink: &mut File, name: &str) -> Result<(), Failure> {
    let line = format!("{name}\n");
    Ok(sink.write_all(line.as_bytes())?)
}

#[inline(never)]
fn checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}
