use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Evidence, Judgement, Reason, Verdict, Why};

/// Something that has to be there, because a baseline has it: a benchmark, or one metric of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// Its stable id.
    pub id: String,
    /// A part that stays the same if it only gets another id, such as a digest of its definition; none if nothing does.
    pub identity: Option<String>,
}

/// Something that a measurement came across.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Its stable id.
    pub id: String,
    /// The part that stays the same if it only gets another id.
    pub identity: Option<String>,
    /// Its state.
    pub state: SeenState,
}

/// The state of something that a measurement came across.
#[derive(Clone, Debug, PartialEq)]
pub enum SeenState {
    /// It was measured.
    Measured {
        /// The samples behind it.
        samples: u64,
    },
    /// It was skipped, or the measurement ended before its turn.
    Skipped {
        /// The cause.
        why: Why,
    },
    /// It ended in another way than expected.
    Failed {
        /// The way in which it ended.
        why: Why,
    },
}

/// The way in which expectation and observation fit together for one id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "presence", rename_all = "kebab-case")]
pub enum Presence {
    /// Expected and measured: its figures decide.
    Measured,
    /// Expected and not there.
    Missing,
    /// Expected, and there under another id.
    Renamed {
        /// The id that it has now.
        to: String,
    },
    /// Expected and skipped.
    Skipped {
        /// The cause.
        why: Why,
    },
    /// Expected and there, but without a sample.
    NoSamples,
    /// There, expected or not, and failed.
    Failed {
        /// The way in which it ended.
        why: Why,
    },
    /// There and not expected.
    New,
}

/// The account of one id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Account {
    /// The id. The new id of something renamed has an account of its own.
    pub id: String,
    /// The way in which it fits.
    #[serde(flatten)]
    pub presence: Presence,
}

/// Lists that do not say what is expected, or what was seen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccountError {
    /// An id stands twice in one list.
    #[error("`{id}` is there twice")]
    Duplicate {
        /// The id.
        id: String,
    },
}

impl Presence {
    /// The judgement that follows; none for what was measured, whose figures are to be judged.
    ///
    /// Something that is gone has `failed`: nothing shows that it still does its work. Something that was skipped or has
    /// no samples is inconclusive.
    pub fn judgement(&self) -> Option<Judgement> {
        let (verdict, reason) = match self {
            Self::Measured => return None,
            Self::Missing => (Verdict::Failed, Reason::Missing),
            Self::Renamed { to } => (Verdict::Failed, Reason::Renamed { to: to.clone() }),
            Self::Skipped { why } => (Verdict::Inconclusive, Reason::Skipped { why: why.clone() }),
            Self::NoSamples => (Verdict::Inconclusive, Reason::NoSamples),
            Self::Failed { why } => (Verdict::Failed, Reason::Failed { why: why.clone() }),
            Self::New => (Verdict::NoBaseline, Reason::New),
        };
        Some(Judgement::new(verdict, reason, Evidence::None))
    }
}

/// Compares what was seen with what is expected: one account for every id of either list, sorted by id.
///
/// An expected id that was not seen is renamed rather than missing if exactly one id is new with the same identity, and
/// exactly one is gone with it.
///
/// # Errors
///
/// Returns an error if an id stands twice in one list.
pub fn account(expected: &[Expected], seen: &[Seen]) -> Result<Vec<Account>, AccountError> {
    let before = by_id(expected, |e| &e.id)?;
    let after = by_id(seen, |s| &s.id)?;
    let gone: Vec<&Expected> = expected.iter().filter(|e| !after.contains_key(e.id.as_str())).collect();
    let new: Vec<&Seen> = seen.iter().filter(|s| !before.contains_key(s.id.as_str())).collect();
    let absent = gone.iter().map(|expected| {
        let to = renamed_to(expected, &gone, &new).map(str::to_owned);
        let presence = to.map_or(Presence::Missing, |to| Presence::Renamed { to });
        Account { id: expected.id.clone(), presence }
    });
    let present = after.into_values().map(|seen| {
        let presence = match (&seen.state, before.contains_key(seen.id.as_str())) {
            (SeenState::Failed { why }, _) => Presence::Failed { why: why.clone() },
            (_, false) => Presence::New,
            (SeenState::Skipped { why }, true) => Presence::Skipped { why: why.clone() },
            (SeenState::Measured { samples: 0 }, true) => Presence::NoSamples,
            (SeenState::Measured { .. }, true) => Presence::Measured,
        };
        Account { id: seen.id.clone(), presence }
    });
    let mut accounts: Vec<Account> = absent.chain(present).collect();
    accounts.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(accounts)
}

fn by_id<T>(items: &[T], id: impl Fn(&T) -> &String) -> Result<BTreeMap<&str, &T>, AccountError> {
    let mut map = BTreeMap::new();
    for item in items {
        if map.insert(id(item).as_str(), item).is_some() {
            return Err(AccountError::Duplicate { id: id(item).clone() });
        }
    }
    Ok(map)
}

/// The only new id with the identity of something that is gone, if nothing else that is gone has it.
fn renamed_to<'a>(expected: &Expected, gone: &[&Expected], new: &[&'a Seen]) -> Option<&'a str> {
    let identity = expected.identity.as_ref()?;
    let same = |other: &Option<String>| other.as_ref() == Some(identity);
    let mut candidates = new.iter().filter(|seen| same(&seen.identity));
    match (candidates.next(), candidates.next(), gone.iter().filter(|gone| same(&gone.identity)).count()) {
        (Some(only), None, 1) => Some(&only.id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::judge::GateOutcome;

    fn expected(id: &str, identity: &str) -> Expected {
        Expected { id: id.into(), identity: Some(identity.into()).filter(|_| !identity.is_empty()) }
    }

    fn seen(id: &str, identity: &str, state: SeenState) -> Seen {
        let Expected { id, identity } = expected(id, identity);
        Seen { id, identity, state }
    }

    fn measured(id: &str, identity: &str) -> Seen {
        seen(id, identity, SeenState::Measured { samples: 9 })
    }

    fn accounts(expected: &[Expected], seen: &[Seen]) -> Vec<(String, Presence)> {
        account(expected, seen).unwrap().into_iter().map(|a| (a.id, a.presence)).collect()
    }

    #[rstest]
    #[case::measured(SeenState::Measured { samples: 1 }, Presence::Measured, None)]
    #[case::no_samples(
        SeenState::Measured { samples: 0 },
        Presence::NoSamples,
        Some((Verdict::Inconclusive, GateOutcome::Undecided))
    )]
    #[case::skipped(
        SeenState::Skipped { why: "no adapter".into() },
        Presence::Skipped { why: "no adapter".into() },
        Some((Verdict::Inconclusive, GateOutcome::Undecided))
    )]
    #[case::crashed(
        SeenState::Failed { why: "crashed".into() },
        Presence::Failed { why: "crashed".into() },
        Some((Verdict::Failed, GateOutcome::Failed))
    )]
    fn what_is_expected_and_seen_is(
        #[case] state: SeenState,
        #[case] presence: Presence,
        #[case] judged: Option<(Verdict, GateOutcome)>,
    ) {
        let judgement = presence.judgement();
        assert_eq!(accounts(&[expected("a", "")], &[seen("a", "", state)]), [("a".into(), presence)]);
        assert_eq!(judgement.map(|row| (row.verdict, row.outcome())), judged);
    }

    #[rstest]
    #[case::measured(SeenState::Measured { samples: 1 }, Presence::New)]
    #[case::no_samples(SeenState::Measured { samples: 0 }, Presence::New)]
    #[case::skipped(SeenState::Skipped { why: "no adapter".into() }, Presence::New)]
    #[case::crashed(SeenState::Failed { why: "crashed".into() }, Presence::Failed { why: "crashed".into() })]
    fn what_is_seen_and_not_expected_is(#[case] state: SeenState, #[case] presence: Presence) {
        assert_eq!(accounts(&[], &[seen("a", "", state)]), [("a".into(), presence)]);
    }

    #[test]
    fn what_is_gone_is_missing_and_fails_the_gate() {
        assert_eq!(
            accounts(&[expected("b", ""), expected("a", "x")], &[measured("c", "y"), measured("a", "x")]),
            [("a".into(), Presence::Measured), ("b".into(), Presence::Missing), ("c".into(), Presence::New)]
        );
        assert_eq!(Presence::Missing.judgement().unwrap().outcome(), GateOutcome::Failed);
        assert_eq!(Presence::New.judgement().unwrap().outcome(), GateOutcome::Ok);
    }

    #[test]
    fn the_same_under_another_id_is_renamed() {
        assert_eq!(
            accounts(&[expected("a", "x")], &[measured("b", "x")]),
            [("a".into(), Presence::Renamed { to: "b".into() }), ("b".into(), Presence::New)]
        );
    }

    #[rstest]
    #[case::two_new(&[expected("a", "x")], &[measured("b", "x"), measured("c", "x")])]
    #[case::two_gone(&[expected("a", "x"), expected("d", "x")], &[measured("b", "x")])]
    #[case::no_identity(&[expected("a", "")], &[measured("b", "")])]
    #[case::not_new(&[expected("a", "x"), expected("b", "x")], &[measured("b", "x")])]
    fn what_may_be_several_things_is_missing(#[case] expected: &[Expected], #[case] seen: &[Seen]) {
        assert_eq!(accounts(expected, seen)[0], ("a".into(), Presence::Missing));
    }

    #[test]
    fn an_id_that_stands_twice_is_refused() {
        let twice = AccountError::Duplicate { id: "a".into() };
        assert_eq!(account(&[expected("a", ""), expected("a", "")], &[]), Err(twice.clone()));
        assert_eq!(account(&[], &[measured("a", ""), measured("a", "")]), Err(twice));
        assert_eq!(account(&[], &[]), Ok(vec![]));
    }

    #[test]
    fn an_account_has_a_stable_form_in_json() {
        let account = Account { id: "a".into(), presence: Presence::Renamed { to: "b".into() } };
        let json = serde_json::to_string(&account).unwrap();
        assert_eq!(json, r#"{"id":"a","presence":"renamed","to":"b"}"#);
        assert_eq!(serde_json::from_str::<Account>(&json).unwrap(), account);
    }

    proptest! {
        #[test]
        fn every_id_has_one_account_whatever_the_order(
            before in prop::collection::btree_map("[a-e]", "[xyz]?", 0..5),
            after in prop::collection::btree_map("[a-e]", "[xyz]?", 0..5),
        ) {
            let mut expected: Vec<Expected> = before.iter().map(|(id, x)| expected(id, x)).collect();
            let mut seen: Vec<Seen> = after.iter().map(|(id, x)| measured(id, x)).collect();
            let forth = account(&expected, &seen).unwrap();
            expected.reverse();
            seen.reverse();
            prop_assert_eq!(&account(&expected, &seen).unwrap(), &forth);
            let ids: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            prop_assert!(forth.iter().map(|a| &a.id).eq(ids));
        }
    }
}
