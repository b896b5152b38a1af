//! A sentence of a document, and the reason why a sentence has no claim.

/// Reason for sentences that promise that nothing else changes.
pub(crate) const EQUAL_RESULTS: &str = "Equal results are a condition of every variant and not a claim: checks compare \
                                        them, and a variant with wrong results has no time.";

/// Sentence of a document that states a gain, a saving, a number or a cost of a hot path.
pub(crate) struct Sentence {
    /// Line in the document, from 1.
    pub(crate) line: u32,
    /// Words of the line, without markup.
    pub(crate) words: &'static str,
    pub(crate) verdict: Verdict,
}

/// How the tests decide whether the sentence is true.
pub(crate) enum Verdict {
    /// Claims judge it, each written as `workload/claim`. A claim also covers promises that are not measurable.
    Judged(&'static [&'static str]),
    /// Nothing can judge it yet, because these rows of the table in `docs/hot-paths.md` are not built.
    NotBuilt(&'static [u8]),
    /// No claim judges it, for this reason.
    NotJudged(&'static str),
}

impl Sentence {
    /// Returns the names of the claims that judge the sentence.
    pub(crate) fn claims(&self) -> &'static [&'static str] {
        match self.verdict {
            Verdict::Judged(claims) => claims,
            Verdict::NotBuilt(_) | Verdict::NotJudged(_) => &[],
        }
    }
}

/// Creates a sentence that claims judge.
pub(crate) const fn judged(line: u32, words: &'static str, claims: &'static [&'static str]) -> Sentence {
    Sentence { line, words, verdict: Verdict::Judged(claims) }
}

/// Creates a sentence about rows of the table that are not built.
pub(crate) const fn not_built(line: u32, words: &'static str, rows: &'static [u8]) -> Sentence {
    Sentence { line, words, verdict: Verdict::NotBuilt(rows) }
}

/// Creates a sentence that no claim judges.
pub(crate) const fn not_judged(line: u32, words: &'static str, reason: &'static str) -> Sentence {
    Sentence { line, words, verdict: Verdict::NotJudged(reason) }
}
