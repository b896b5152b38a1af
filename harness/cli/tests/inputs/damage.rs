//! Damage to a file, as accidents and other people make it.

use std::ops::Range;

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;

/// Numbers at the ends of what formats and arithmetic know.
const NUMBERS: [&str; 20] = [
    "1e308",
    "-1e308",
    "5e-324",
    "9007199254740993",
    "-0",
    "0",
    "-1",
    "1e999",
    "0.1e-400",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "4294967296",
    "2147483648",
    "null",
    "\"NaN\"",
    "\"Infinity\"",
    "true",
    "[]",
    "{}",
];

/// Texts that mean something elsewhere.
const TEXTS: [&str; 12] = [
    "",
    "..",
    "../../x",
    "/etc/passwd",
    "nul",
    "\\u001b[31m",
    "\\ud800",
    "NaN",
    "::error::x",
    "<script>",
    "a/b/c",
    "\u{202e}x",
];

/// How many ways there are, and the one that puts another number in the place of one.
const WAYS: usize = 17;
const NUMBER: usize = 8;

pub(crate) struct Damage {
    random: Pcg64Mcg,
}

impl Damage {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Pcg64Mcg::new(u128::from(seed) | 1) }
    }

    fn below(&mut self, end: usize) -> usize {
        (self.random.next_u64() % end.max(1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        let at = self.below(from.len());
        from.get(at).copied()
    }

    /// A range of at most so many bytes.
    fn range(&mut self, content: &[u8], most: usize) -> Range<usize> {
        let start = self.below(content.len() + 1);
        start..(start + self.below(most + 1)).min(content.len())
    }

    /// Something else made of a valid file; `others` are files of the same kind.
    pub(crate) fn of(&mut self, valid: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
        let mut content = valid.to_vec();
        // Half of them keep the form, so that they get further than to who checks that.
        let keeps_form = self.below(2) == 0;
        for _ in 0..=self.below(3) {
            let way = if keeps_form { NUMBER } else { self.below(WAYS) };
            self.once(way, &mut content, others);
        }
        content
    }

    fn once(&mut self, way: usize, content: &mut Vec<u8>, others: &[Vec<u8>]) {
        match way {
            0 | 1 => {
                let at = self.below(content.len());
                if let Some(byte) = content.get_mut(at) {
                    *byte ^= 1 << (self.random.next_u64() % 8);
                }
            }
            2 => {
                let at = self.below(content.len());
                if let Some(byte) = content.get_mut(at) {
                    *byte = self.random.next_u64() as u8;
                }
            }
            3 => content.truncate(self.below(content.len())),
            4 => drop(content.drain(self.range(content, 300))),
            5 => {
                let range = self.range(content, 300);
                let again = content[range.clone()].to_vec();
                content.splice(range.end..range.end, again);
            }
            6 => {
                let bytes: Vec<u8> = (0..self.below(20)).map(|_| self.random.next_u64() as u8).collect();
                let at = self.below(content.len() + 1);
                content.splice(at..at, bytes);
            }
            7 => {
                let Some(other) = others.get(self.below(others.len())) else { return };
                let (from, to) = (self.range(other, 2_000), self.range(content, 500));
                content.splice(to, other[from].iter().copied());
            }
            NUMBER..=10 => {
                let token = self.token(
                    content,
                    |byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte),
                    u8::is_ascii_digit,
                );
                let with = self.pick(&NUMBERS).unwrap_or_default();
                content.splice(token, with.bytes());
            }
            11 => {
                let token = self.token(content, |byte| byte != b'"', u8::is_ascii_alphanumeric);
                let with = self.pick(&TEXTS).unwrap_or_default();
                content.splice(token, with.bytes());
            }
            12 => {
                // A field, a value or a line with what divides it from the next one: removed, or there twice.
                let end = if self.below(2) == 0 { b',' } else { b'\n' };
                let token = self.token(content, |byte| byte != end, |_| true);
                let token = token.start..(token.end + 1).min(content.len());
                let own = content[token.clone()].to_vec();
                let times = [0, 2, 2, 50][self.below(4)];
                content.splice(token, own.repeat(times));
            }
            13 => {
                let mut lines: Vec<Vec<u8>> =
                    content.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                let (a, b) = (self.below(lines.len()), self.below(lines.len()));
                if a < lines.len() && b < lines.len() {
                    lines.swap(a, b);
                }
                *content = lines.concat();
            }
            14 => {
                let (open, close) = [("[", "]"), ("{\"a\":", "}")][self.below(2)];
                let depth = [20, 130, 3_000][self.below(3)];
                let token = self.token(content, |byte| byte.is_ascii_digit(), u8::is_ascii_digit);
                let nested = [open.repeat(depth), "1".into(), close.repeat(depth)].concat();
                content.splice(token, nested.into_bytes());
            }
            15 => {
                let at = self.token(content, |byte| byte != b'"', u8::is_ascii_alphanumeric).start;
                let with = ["x", "\\n", "ü", "\u{1f4a5}"][self.below(4)].repeat(20_000);
                content.splice(at..at, with.into_bytes());
            }
            _ => {
                let at = self.below(content.len() + 1);
                let bytes: &[u8] =
                    [b"\xff\xfe".as_slice(), b"\xc3", b"\xed\xa0\x80", b"\0", b"\xef\xbb\xbf", b"\r\n"]
                        [self.below(6)];
                content.splice(at..at, bytes.iter().copied());
            }
        }
    }

    /// A stretch of bytes that belong together, from a random place that begins one.
    fn token(
        &mut self,
        content: &[u8],
        is_part: impl Fn(u8) -> bool,
        is_begin: impl Fn(&u8) -> bool,
    ) -> Range<usize> {
        let from = self.below(content.len() + 1);
        let Some(found) = content[from..].iter().position(is_begin) else { return from..from };
        let at = from + found;
        let start = content[..at].iter().rposition(|byte| !is_part(*byte)).map_or(0, |before| before + 1);
        let length = content[at..].iter().position(|byte| !is_part(*byte)).unwrap_or(content.len() - at);
        start.min(at)..at + length
    }
}
