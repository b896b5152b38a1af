//! The promises of the source documents, and the claims that judge them.
//!
//! The documents are not part of the repository, so the tables here are the list of their promises: every sentence that
//! states a gain, a saving, a number or a cost of a hot path. The tests fail if a claim is in no table, if it does not
//! exist, or if its statement is not in the words of its document.

mod document_000;
mod document_001;
mod document_002;
mod document_003;
mod document_004;
mod page;
mod sentence;

use std::collections::{BTreeMap, BTreeSet};

use perfharness_contract::ClaimDef;

use sentence::{Sentence, Verdict};

/// Tables of the documents, by the names by which sources of claims refer to them.
const DOCUMENTS: [(&str, &[Sentence]); 5] = [
    ("000", document_000::SENTENCES),
    ("001", document_001::SENTENCES),
    ("002", document_002::SENTENCES),
    ("003", document_003::SENTENCES),
    ("004", document_004::SENTENCES),
];

/// Returns all sentences with their documents.
fn sentences() -> impl Iterator<Item = (&'static str, &'static Sentence)> {
    DOCUMENTS
        .iter()
        .flat_map(|(document, sentences)| sentences.iter().map(move |sentence| (*document, sentence)))
}

/// Returns the claims of all built-in workloads, by `workload/claim`.
fn claims() -> BTreeMap<String, ClaimDef> {
    let workloads = perfharness_all::all();
    let definitions = workloads.iter().map(perfharness_contract::Workload::definition);
    definitions
        .flat_map(|workload| {
            workload.claims.iter().map(|claim| (format!("{}/{}", workload.id, claim.id), claim.clone()))
        })
        .collect()
}

/// Returns the sentences, with their documents, that the claim `name` judges.
fn judged_by(name: &str) -> Vec<(&'static str, &'static Sentence)> {
    sentences().filter(|(_, sentence)| sentence.claims().contains(&name)).collect()
}

#[test]
fn every_sentence_names_claims_that_exist() {
    let claims = claims();
    let unknown: Vec<_> = sentences()
        .flat_map(|(document, sentence)| {
            sentence.claims().iter().map(move |name| (document, sentence.line, *name))
        })
        .filter(|(_, _, name)| !claims.contains_key(*name))
        .collect();
    assert!(unknown.is_empty(), "document, line and name of claims that do not exist: {unknown:#?}");
}

#[test]
fn every_claim_judges_a_sentence() {
    let listed: BTreeSet<_> = sentences().flat_map(|(_, sentence)| sentence.claims()).copied().collect();
    let missing: Vec<_> = claims().into_keys().filter(|name| !listed.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "claims that judge no sentence of the tables: {missing:#?}");
}

#[test]
fn every_statement_is_in_the_words_of_its_sentences() {
    for (name, claim) in claims() {
        let sentences = judged_by(&name);
        for words in claim.statement.split(" … ") {
            let quoted = sentences.iter().any(|(_, sentence)| sentence.words.contains(words));
            assert!(
                quoted && !words.is_empty(),
                "`{name}` states \"{words}\", which none of its sentences says"
            );
        }
    }
}

#[test]
fn every_source_names_the_document_of_its_sentences() {
    for (name, claim) in claims() {
        for (document, sentence) in judged_by(&name) {
            let of_it = claim.source.strip_prefix(document).is_some_and(|rest| rest.starts_with(", "));
            let line = sentence.line;
            assert!(
                of_it,
                "`{name}` judges line {line} of document {document}, and names \"{}\"",
                claim.source
            );
        }
    }
}

#[test]
fn every_sentence_has_a_verdict_in_the_order_of_its_document() {
    for (document, sentences) in DOCUMENTS {
        assert!(sentences.is_sorted_by_key(|sentence| sentence.line), "document {document}");
        for sentence in sentences {
            let line = sentence.line;
            let empty = match sentence.verdict {
                Verdict::Judged(claims) => claims.is_empty(),
                Verdict::NotBuilt(rows) => rows.is_empty(),
                Verdict::NotJudged(reason) => reason.is_empty(),
            };
            assert!(!empty && !sentence.words.is_empty(), "document {document}, line {line}");
        }
    }
}
