//! Requests and bytes for each path of an access log in the common log format.

use std::collections::{BTreeMap, HashMap};

/// Traffic of one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of requests.
    pub requests: u64,
    /// Bytes sent.
    pub bytes: u64,
}

impl Traffic {
    fn add(&mut self, bytes: u64) {
        self.requests += 1;
        self.bytes += bytes;
    }
}

/// Returns the traffic of each path in `log`, and leaves out lines that are not in the format.
pub fn summarize(log: &str) -> BTreeMap<String, Traffic> {
    let mut paths: HashMap<&str, Traffic> = HashMap::new();
    for line in log.lines() {
        let mut fields = line.split_ascii_whitespace().skip(6);
        let (path, bytes) = (fields.next(), fields.nth(2).and_then(|bytes| bytes.parse().ok()));
        if let (Some(path), Some(bytes)) = (path, bytes) {
            paths.entry(path).or_default().add(bytes);
        }
    }
    paths.into_iter().map(|(path, traffic)| (path.to_owned(), traffic)).collect()
}

/// A line of a log with fields of its own.
struct Request {
    path: String,
    bytes: u64,
}

impl Request {
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<String> = line.split_whitespace().map(String::from).collect();
        Some(Self { path: fields.get(6)?.clone(), bytes: fields.get(9)?.parse().ok()? })
    }
}

/// Returns what [`summarize`] returns, as it was first written: every line becomes a record that owns its fields.
pub fn summarize_records(log: &str) -> BTreeMap<String, Traffic> {
    let requests: Vec<Request> = log.lines().filter_map(Request::parse).collect();
    let mut paths: BTreeMap<String, Traffic> = BTreeMap::new();
    for request in &requests {
        paths.entry(request.path.clone()).or_default().add(request.bytes);
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_count_the_same_and_skip_what_is_not_a_request() {
        let log = "\
10.0.0.1 - - [01/Jan/2026:00:00:00 +0000] \"GET /a HTTP/1.1\" 200 5
not a request
10.0.0.2 - - [01/Jan/2026:00:00:01 +0000] \"GET /b HTTP/1.1\" 304 -
10.0.0.1 - - [01/Jan/2026:00:00:02 +0000] \"GET /a HTTP/1.1\" 200 7
";
        let expected = BTreeMap::from([("/a".to_owned(), Traffic { requests: 2, bytes: 12 })]);
        assert_eq!(summarize(log), expected);
        assert_eq!(summarize_records(log), expected);
    }
}
