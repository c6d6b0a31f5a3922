//! The second hidden word of the binary: takes rights away from itself, then becomes the program.
//!
//! Landlock says which files can be reached, a seccomp filter which sockets can be made. A filter of its
//! own is needed for sockets: Landlock knows TCP only, and unix sockets lead to services that would do
//! outside what is forbidden inside.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use serde::{Deserialize, Serialize};

/// Word in the place of a subcommand.
pub(super) const WORD: &str = "__confine";

/// Exit code of a program that could not be confined, and so was not started.
const NOT_CONFINED: u8 = 125;
/// Exit code of a program that is not there, as shells give it.
const NOT_FOUND: u8 = 127;

/// What remains allowed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Confinement {
    /// Files and trees to read and execute. What does not exist is skipped.
    pub readable: Vec<PathBuf>,
    /// Files and trees to change.
    pub writable: Vec<PathBuf>,
    /// Whether internet sockets may be made.
    pub network: bool,
}

impl Confinement {
    /// The arguments that start `argv` confined.
    pub(super) fn arguments(&self, argv: &[String]) -> serde_json::Result<Vec<String>> {
        let mut arguments = vec![WORD.to_owned(), serde_json::to_string(self)?];
        arguments.extend_from_slice(argv);
        Ok(arguments)
    }
}

/// Becomes the program that `arguments` name after the confinement. Returns only if it cannot.
pub(super) fn main(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let confinement = arguments.next().and_then(|text| serde_json::from_str::<Confinement>(text.to_str()?).ok());
    let (Some(confinement), Some(program)) = (confinement, arguments.next()) else {
        eprintln!("r1: `{WORD}` is for r1 itself to call");
        return ExitCode::from(NOT_CONFINED);
    };
    if let Err(reason) = confinement.enter() {
        eprintln!("r1: not started, because it cannot be confined: {reason}");
        return ExitCode::from(NOT_CONFINED);
    }
    let failure = Command::new(&program).args(arguments).exec();
    eprintln!("r1: cannot start `{}`: {failure}", program.display());
    ExitCode::from(NOT_FOUND)
}

#[cfg(target_os = "linux")]
pub(crate) use linux::is_available;

/// Whether this machine can confine at all.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_available() -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
impl Confinement {
    fn enter(&self) -> Result<(), String> {
        Err("only Linux has Landlock".to_owned())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;

    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
        RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
    };
    use rustix::process::{Signal, set_parent_process_death_signal};
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    };

    use super::Confinement;

    /// Without `truncate` (in the kernel since this version), files outside could still be emptied.
    const NEEDED: ABI = ABI::V3;
    /// What is taken where the kernel has it: TCP, devices, signals to others.
    const WANTED: ABI = ABI::V6;

    /// Whether this machine can confine at all.
    pub(crate) fn is_available() -> bool {
        ruleset(false).and_then(Ruleset::create).is_ok()
    }

    fn ruleset(network: bool) -> Result<Ruleset, RulesetError> {
        let ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(NEEDED))?
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(WANTED))?
            .scope(Scope::from_all(WANTED))?;
        if network { Ok(ruleset) } else { ruleset.handle_access(AccessNet::from_all(WANTED)) }
    }

    impl Confinement {
        /// Gives up all other rights, for good and for every descendant.
        pub(super) fn enter(&self) -> Result<(), String> {
            // A supervisor that is killed takes the program with it.
            set_parent_process_death_signal(Some(Signal::KILL)).map_err(|err| err.to_string())?;
            let status = ruleset(self.network)
                .and_then(Ruleset::create)
                .and_then(|rules| rules.add_rules(path_beneath_rules(&self.readable, AccessFs::from_read(WANTED))))
                .and_then(|rules| rules.add_rules(path_beneath_rules(&self.writable, AccessFs::from_all(WANTED))))
                .and_then(|rules| rules.restrict_self())
                .map_err(|err| err.to_string())?;
            if status.ruleset == RulesetStatus::NotEnforced {
                return Err("the kernel does not enforce Landlock".to_owned());
            }
            let filter = socket_filter(self.network).map_err(|err| err.to_string())?;
            seccompiler::apply_filter(&filter).map_err(|err| err.to_string())?;
            // Root's capabilities look past Landlock, into the memory of other processes for one. They are not
            // given back at exec, because Landlock needed "no new privileges".
            let nothing = CapabilitySet::empty();
            let sets = CapabilitySets { effective: nothing, permitted: nothing, inheritable: nothing };
            set_capabilities(None, sets).map_err(|err| err.to_string())
        }
    }

    const AF_INET: u64 = 2;
    const AF_INET6: u64 = 10;
    /// Name resolution asks the kernel for its addresses through it.
    const AF_NETLINK: u64 = 16;

    const EACCES: u32 = 13;

    #[cfg(target_arch = "x86_64")]
    const SOCKET: i64 = 41;
    #[cfg(not(target_arch = "x86_64"))]
    const SOCKET: i64 = 198;
    /// Its rings make sockets without the call above.
    const IO_URING_SETUP: i64 = 425;
    /// The same calls by their second name on x86-64 (x32).
    #[cfg(target_arch = "x86_64")]
    const SECOND_NAME: Option<i64> = Some(0x4000_0000);
    #[cfg(not(target_arch = "x86_64"))]
    const SECOND_NAME: Option<i64> = None;

    /// Refuses new sockets, of every family but those of the internet if `network`. Pairs of connected
    /// sockets, with which programs talk to their own children, are another call and stay.
    fn socket_filter(network: bool) -> Result<BpfProgram, seccompiler::BackendError> {
        let refused_socket = if network {
            let is_not = |family| SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, family);
            vec![SeccompRule::new(vec![is_not(AF_INET)?, is_not(AF_INET6)?, is_not(AF_NETLINK)?])?]
        } else {
            Vec::new()
        };
        let mut rules = BTreeMap::new();
        for name in [Some(0), SECOND_NAME].into_iter().flatten() {
            rules.insert(name | SOCKET, refused_socket.clone());
            rules.insert(name | IO_URING_SETUP, Vec::new());
        }
        let filter = SeccompFilter::new(
            rules,
            SeccompAction::Allow,
            SeccompAction::Errno(EACCES),
            std::env::consts::ARCH.try_into()?,
        )?;
        filter.try_into()
    }
}
