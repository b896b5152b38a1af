//! Profiles for `pprof`: protocol buffers as in <https://github.com/google/pprof/blob/main/proto/profile.proto>,
//! without compression, which its readers accept.
//!
//! This encoder is written by hand because the few messages used here consist of whole numbers, texts and messages.
//! Numbers in the code are the field numbers of the format.

use std::collections::BTreeMap;

use perfharness_contract::protocol::ProfileClock;
use perfharness_record::StackProfile;

/// Encodes one profile; `benchmark` is the root of all stacks. Each sample has the count of its stack and the amount
/// that it stands for.
pub(super) fn pprof(profile: &StackProfile, benchmark: &str) -> Vec<u8> {
    let mut texts = StringTable::default();
    // The format requires that the first text is empty.
    texts.number("");
    let (kind, unit) = match (profile.unit.as_str(), profile.clock) {
        ("ns", ProfileClock::Cpu) => ("cpu", "nanoseconds"),
        ("ns", ProfileClock::Wall) => ("wall", "nanoseconds"),
        (unit, _) => (unit, unit),
    };
    let counts = value_type(&mut texts, "samples", "count");
    let amounts = value_type(&mut texts, kind, unit);

    let mut functions: BTreeMap<&str, u64> = BTreeMap::new();
    let mut samples = Vec::new();
    for (frames, count) in &profile.stacks {
        // The format puts the innermost function first.
        let names = frames.iter().rev().map(String::as_str).chain([benchmark]);
        let locations = names.map(|name| {
            let next = functions.len() as u64 + 1;
            *functions.entry(name).or_insert(next)
        });
        let mut sample = Message::default();
        sample.numbers(1, locations);
        sample.numbers(2, [*count, (*count as f64 * profile.period()).round() as u64]);
        samples.push(sample);
    }

    let mut file = Message::default();
    file.message(1, &counts);
    file.message(1, &amounts);
    for sample in &samples {
        file.message(2, sample);
    }
    for (name, id) in &functions {
        // One location for each function, because addresses and lines are unknown.
        let mut line = Message::default();
        line.number(1, *id);
        let mut location = Message::default();
        location.number(1, *id);
        location.message(4, &line);
        file.message(4, &location);
        let name = texts.number(name);
        let mut function = Message::default();
        function.number(1, *id);
        function.number(2, name);
        function.number(3, name);
        file.message(5, &function);
    }
    let comment = texts.number(&format!("{benchmark}, {} iterations", profile.iterations));
    file.number(10, profile.wall_ns);
    file.message(11, &amounts);
    file.number(12, profile.period().round() as u64);
    file.numbers(13, [comment]);
    // The default sample type.
    file.number(14, texts.number(kind));
    for text in &texts.all {
        file.bytes(6, text.as_bytes());
    }
    file.0
}

fn value_type(texts: &mut StringTable, kind: &str, unit: &str) -> Message {
    let mut message = Message::default();
    message.number(1, texts.number(kind));
    message.number(2, texts.number(unit));
    message
}

/// The string table: messages refer to texts by number.
#[derive(Default)]
struct StringTable {
    all: Vec<String>,
    numbers: BTreeMap<String, u64>,
}

impl StringTable {
    fn number(&mut self, text: &str) -> u64 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.all.len() as u64;
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}

/// A message under construction.
#[derive(Clone, Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    const VARINT: u64 = 0;
    const LENGTH: u64 = 2;

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | Self::VARINT);
        self.varint(value);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | Self::LENGTH);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn message(&mut self, field: u64, message: &Self) {
        self.bytes(field, &message.0);
    }

    /// Writes a packed repeated field of whole numbers.
    fn numbers(&mut self, field: u64, values: impl IntoIterator<Item = u64>) {
        let mut packed = Self::default();
        values.into_iter().for_each(|value| packed.varint(value));
        self.message(field, &packed);
    }
}

#[cfg(test)]
mod tests {
    use perfharness_record::testing::profile;

    use super::*;

    /// A decoded message: the values of each field, in order.
    #[derive(Debug, Default)]
    struct Read {
        numbers: BTreeMap<u64, u64>,
        bytes: BTreeMap<u64, Vec<Vec<u8>>>,
    }

    fn varint(input: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = input.split_first().unwrap();
            *input = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return value;
            }
        }
        panic!("a number without an end");
    }

    fn read(mut input: &[u8]) -> Read {
        let mut message = Read::default();
        while !input.is_empty() {
            let key = varint(&mut input);
            match key & 7 {
                0 => {
                    message.numbers.insert(key >> 3, varint(&mut input));
                }
                2 => {
                    let length = varint(&mut input) as usize;
                    let (bytes, rest) = input.split_at(length);
                    input = rest;
                    message.bytes.entry(key >> 3).or_default().push(bytes.to_vec());
                }
                kind => panic!("a field of kind {kind}"),
            }
        }
        message
    }

    fn packed(mut input: &[u8]) -> Vec<u64> {
        let mut values = Vec::new();
        while !input.is_empty() {
            values.push(varint(&mut input));
        }
        values
    }

    impl Read {
        fn messages(&self, field: u64) -> Vec<Self> {
            self.bytes.get(&field).into_iter().flatten().map(|bytes| read(bytes)).collect()
        }

        fn packed(&self, field: u64) -> Vec<u64> {
            packed(&self.bytes[&field][0])
        }
    }

    #[test]
    fn a_file_read_back_has_the_stacks_and_what_they_stand_for() {
        let long = "f".repeat(300);
        let stacks = [("run;write", 3), ("run", 200), (long.as_str(), 1)];
        let file = read(&pprof(&profile(10, 1_000.0, &stacks), "w/c/v"));
        let texts: Vec<String> =
            file.bytes[&6].iter().map(|bytes| String::from_utf8(bytes.clone()).unwrap()).collect();
        assert_eq!(texts[0], "");
        let text = |number: u64| texts[number as usize].as_str();

        let types: Vec<(&str, &str)> =
            file.messages(1).iter().map(|t| (text(t.numbers[&1]), text(t.numbers[&2]))).collect();
        assert_eq!(types, [("samples", "count"), ("cpu", "nanoseconds")]);
        assert_eq!((file.numbers[&10], file.numbers[&12]), (1_000, 1_000));
        assert_eq!(text(file.numbers[&14]), "cpu");
        assert_eq!(text(file.packed(13)[0]), "w/c/v, 10 iterations");

        let functions: BTreeMap<u64, &str> =
            file.messages(5).iter().map(|f| (f.numbers[&1], text(f.numbers[&2]))).collect();
        let locations: BTreeMap<u64, &str> = file
            .messages(4)
            .iter()
            .map(|l| (l.numbers[&1], functions[&l.messages(4)[0].numbers[&1]]))
            .collect();
        let mut samples: Vec<(String, Vec<u64>)> = file
            .messages(2)
            .iter()
            .map(|s| {
                let names: Vec<&str> = s.packed(1).iter().map(|id| locations[id]).collect();
                (names.join("<"), s.packed(2))
            })
            .collect();
        samples.sort();
        let due = [
            (format!("{long}<w/c/v"), vec![1, 1_000]),
            ("run<w/c/v".to_owned(), vec![200, 200_000]),
            ("write<run<w/c/v".to_owned(), vec![3, 3_000]),
        ];
        assert_eq!(samples, due);
        assert!(!functions.contains_key(&0) && !locations.contains_key(&0), "0 means none");
    }
}
