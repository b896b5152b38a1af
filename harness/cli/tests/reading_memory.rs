//! What reading takes of memory, however a file was made. A test program of its own, since it looks at the peak of a
//! process.

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{BufWriter, Write};
    use std::path::Path;

    use perfharness_platform::self_peak_rss_bytes;
    use perfharness_record::file;
    use perfharness_record::json::{OBJECT, RECORD_LIMITS};

    /// The limit in docs/metrics.md.
    const STATED: u64 = 256_000_000;
    const RECORD: &str = include_str!("fixtures/record.json");

    /// More of something in a record: behind which text, what, and how often.
    struct More {
        name: &'static str,
        behind: &'static str,
        text: fn(u64) -> String,
        times: u64,
    }

    /// Content that takes much memory for its text, as often as the limits allow.
    fn hostile() -> [More; 8] {
        let room = RECORD_LIMITS.values - 20_000;
        let texts = "\"arguments\": [";
        let trees = "\"params\": {";
        let benchmark = |_| {
            "{\"id\":\"a/b/c\",\"definition\":1,\"role\":\"slow\",\"outcome\":{\"kind\":\"ok\"},\"expected\":\"ok\",\
             \"metrics\":{\"\":{\"unit\":\"\",\"kind\":\"time\",\"value\":0,\"samples\":1}}},"
                .to_owned()
        };
        let more = |name, behind, times, text| More { name, behind, text, times };
        [
            // The largest allocations come first: what a heap of small ones keeps would be counted twice.
            more("escapes", texts, 1, |_| format!("\"{}\",", "\\r".repeat(15 << 20))),
            more("escapes and texts", texts, room, |at| match at {
                0 => format!("\"{}\",", "\\r".repeat(12 << 20)),
                _ => "\"\",".into(),
            }),
            more("texts", texts, room, |_| "\"\",".into()),
            more("texts that take memory", texts, room, |_| "\"x\",".into()),
            more("entries of a map", "\"facts\": {", room / 2, |at| format!("\"{at:x}\":\"x\",")),
            more("small trees", trees, room / (3 * OBJECT + 10), |at| {
                format!("\"{at:x}\":[{{\"\":{{\"\":{{\"\":0}}}}}}],")
            }),
            more("numbers", trees, 1, |_| format!("\"x\":[{}0],", "0,".repeat(2_400_000))),
            more("benchmarks", "\n  \"benchmarks\": [", room / (4 * OBJECT + 26), benchmark),
        ]
    }

    fn write(path: &Path, more: &More) {
        let at = RECORD.find(more.behind).expect(more.name) + more.behind.len();
        let mut file = BufWriter::new(File::create(path).unwrap());
        file.write_all(&RECORD.as_bytes()[..at]).unwrap();
        (0..more.times).for_each(|number| file.write_all((more.text)(number).as_bytes()).unwrap());
        file.write_all(&RECORD.as_bytes()[at..]).unwrap();
        file.flush().unwrap();
        assert!(path.metadata().unwrap().len() <= RECORD_LIMITS.bytes, "{}", more.name);
    }

    #[test]
    fn reading_a_record_takes_no_more_than_stated() {
        let folder = tempfile::tempdir().unwrap();
        let path = |more: &More| folder.path().join(more.name);
        let all = hostile();
        for more in &all {
            write(&path(more), more);
        }
        let before = self_peak_rss_bytes();
        for more in &all {
            let read = file::read(&path(more));
            assert!(read.is_ok(), "{}: {}", more.name, read.unwrap_err());
            drop(read);
            let Some((before, peak)) = before.zip(self_peak_rss_bytes()) else { continue };
            let grown = peak.saturating_sub(before);
            eprintln!("up to {}: {} MB", more.name, grown / 1_000_000);
            assert!(grown <= STATED, "{}: {grown} bytes", more.name);
        }
    }

    #[test]
    fn a_record_beyond_the_limits_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        // Without blocks of its own where the file system can.
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let error = file::read(&path).unwrap_err().to_string();
        assert!(error.contains("more than 33554432 bytes"), "{error}");
        let text = "{\"\":0},".repeat(400_000);
        std::fs::write(&path, format!("[{text}0]")).unwrap();
        let error = file::read(&path).unwrap_err().to_string();
        assert!(error.contains("more than 2500000 values"), "{error}");
    }
}
