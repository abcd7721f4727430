//! Which answers of a turn depend on the log, and what becomes of them.

use super::Service;
use crate::Turn;
use crate::resp::Reply;
use mayhap_engine::durable::{State, Ticket, Unwritten};

/// The answer if the log failed after the change was written.
const LOG_FAILED: &str = "MISCONF The log failed on the disk, so it is unknown whether this change \
                          is durable. Check the server's messages, then restart it.";

/// The condition for sending answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waits {
    /// Records up to this position are as safe as the policy promises.
    pub(super) ticket: Option<Ticket>,
    /// The changes of the turn are undone: it was refused with this number.
    pub(super) undone: Option<u64>,
}

/// Which of the answers of a turn depend on the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writes {
    /// Answers that report a change.
    pub(super) all: Tail,
    /// Of them, those that depend on records of the turn, and become errors if these are refused:
    /// the others report changes that are in the log already.
    pub(super) recorded: Option<Tail>,
}

/// An answer and all that follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tail {
    /// Its offset from the first answer of the turn.
    pub(super) at: usize,
    /// The number of answers, including it.
    pub(super) answers: u32,
}

impl Tail {
    /// The answers before it, then an error in place of it and of each that follows.
    fn refused(self, answers: &[u8], text: &str) -> Vec<u8> {
        let mut out = answers.get(..self.at).unwrap_or(&[]).to_vec();
        for _ in 0..self.answers {
            Reply::new(&mut out, false).error(text);
        }
        out
    }
}

/// Answers that wait for the log.
#[derive(Debug)]
pub(super) struct Held {
    waits: Waits,
    pub(super) bytes: Vec<u8>,
    writes: Writes,
}

impl Held {
    /// The answers to be sent now; the same again while they have to wait.
    pub(super) fn release(self: Box<Self>, service: &impl Service) -> Result<Vec<u8>, Box<Self>> {
        let Waits { ticket, undone } = self.waits;
        let is_undone = undone.is_none_or(|number| service.is_undone(number));
        match ticket.map_or(State::Safe, |ticket| service.state(ticket)) {
            State::Safe if is_undone => Ok(self.bytes),
            State::Refused if is_undone => Ok(self.writes.all.refused(&self.bytes, LOG_FAILED)),
            _ => Err(self),
        }
    }
}

/// The result of writing the changes of a turn.
#[derive(Debug)]
pub(super) enum Outcome {
    Safe,
    Waiting(Ticket),
    /// None of the turn is applied, once all changes refused with this number are undone; its
    /// operations are, up to this position.
    Refused {
        text: String,
        waits: Waits,
    },
    /// It is written, but may not be durable.
    Failed,
}

/// The fate of the answers of a turn.
#[derive(Debug)]
pub(super) enum Answers {
    /// They are sent as they are.
    AsTheyAre,
    /// These are sent instead.
    Instead(Vec<u8>),
    /// They wait.
    Held(Box<Held>),
}

impl Outcome {
    /// Writes the changes of a turn.
    pub(super) fn of(service: &impl Service, turn: &mut Turn) -> Self {
        match service.commit(turn) {
            Ok(None) => Self::Safe,
            Ok(Some(ticket)) => match service.state(ticket) {
                State::Safe => Self::Safe,
                State::Waiting => Self::Waiting(ticket),
                State::Refused => Self::Failed,
            },
            Err(Unwritten { why, until }) => Self::Refused {
                text: format!("MISCONF {why}"),
                waits: Waits { ticket: service.last_operation(), undone: until },
            },
        }
    }

    /// The fate of these answers of the turn.
    pub(super) fn apply(&self, answers: &[u8], writes: Option<Writes>) -> Answers {
        let Some(writes) = writes else { return Answers::AsTheyAre };
        let (bytes, waits) = match self {
            Self::Safe => return Answers::AsTheyAre,
            Self::Failed => return Answers::Instead(writes.all.refused(answers, LOG_FAILED)),
            &Self::Waiting(ticket) => {
                (answers.to_vec(), Waits { ticket: Some(ticket), undone: None })
            }
            Self::Refused { text, waits } => {
                let as_they_are = || answers.to_vec();
                let refused = |recorded: Tail| recorded.refused(answers, text);
                (writes.recorded.map_or_else(as_they_are, refused), *waits)
            }
        };
        Answers::Held(Box::new(Held { waits, bytes, writes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_before_the_first_change_are_kept_and_the_others_become_errors() {
        let answers = b"+PONG\r\n:1\r\n:0\r\n";
        let all = Tail { at: 7, answers: 2 };
        let writes = Writes { all, recorded: Some(Tail { at: 11, answers: 1 }) };
        let waits = Waits { ticket: None, undone: Some(3) };
        let refused = Outcome::Refused { text: "MISCONF full".to_owned(), waits };
        let Answers::Held(held) = refused.apply(answers, Some(writes)) else { panic!() };
        assert_eq!(held.bytes.escape_ascii().to_string(), "+PONG\\r\\n:1\\r\\n-MISCONF full\\r\\n");
        let Answers::Instead(bytes) = Outcome::Failed.apply(answers, Some(writes)) else {
            panic!()
        };
        assert_eq!(bytes.split(|&byte| byte == b'-').count(), 3, "{}", bytes.escape_ascii());
        for outcome in [Outcome::Safe, Outcome::Failed, refused] {
            assert!(matches!(outcome.apply(answers, None), Answers::AsTheyAre));
        }
    }
}
