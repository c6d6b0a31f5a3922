//! The processes below this one, as `/proc` tells of them.

use std::collections::{HashMap, HashSet};
use std::fs;

use rustix::process::{Pid, Signal, getpid, kill_process, kill_process_group};

/// A process and where it belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    is_zombie: bool,
}

/// Everything below a process that still runs.
#[derive(Debug, Default)]
pub(super) struct Tree {
    members: Vec<Process>,
}

impl Tree {
    /// What is below this process now.
    pub(super) fn below_this_process() -> Self {
        Self::of(getpid().as_raw_nonzero().get(), &all_processes())
    }

    fn of(root: i32, all: &[Process]) -> Self {
        let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
        for process in all {
            children.entry(process.parent).or_default().push(*process);
        }
        let mut members = Vec::new();
        let mut to_visit = vec![root];
        while let Some(pid) = to_visit.pop() {
            for child in children.remove(&pid).unwrap_or_default() {
                to_visit.push(child.pid);
                if !child.is_zombie {
                    members.push(child);
                }
            }
        }
        Self { members }
    }

    /// How many they are.
    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Sends a signal to each, and to their groups: a group is reached in one step, also while it forks.
    pub(super) fn signal(&self, signal: Signal) {
        let own_group = rustix::process::getpgrp().as_raw_nonzero().get();
        let groups: HashSet<i32> = self.members.iter().map(|process| process.group).collect();
        for group in groups {
            if group > 1
                && group != own_group
                && let Some(pid) = Pid::from_raw(group)
            {
                let _ended_meanwhile = kill_process_group(pid, signal);
            }
        }
        // Whom no group reached. The others must not get a second SIGTERM; a second SIGKILL is harmless, and
        // reaches those that changed their group meanwhile.
        for process in &self.members {
            let unreached = process.group <= 1 || process.group == own_group || signal == Signal::KILL;
            if unreached && let Some(pid) = Pid::from_raw(process.pid) {
                let _ended_meanwhile = kill_process(pid, signal);
            }
        }
    }
}

/// Processes and threads of the whole machine: one small read, where a walk over all of them is not
/// needed to see that there are few.
pub(super) fn tasks_of_the_machine() -> Option<u64> {
    let load = fs::read_to_string("/proc/loadavg").ok()?;
    load.split_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

fn all_processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            // Gone by now: not ours to signal.
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            parse_stat(pid, &stat)
        })
        .collect()
}

fn parse_stat(pid: i32, stat: &str) -> Option<Process> {
    // The name in parentheses is the program's to choose and may hold anything, parentheses too.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    Some(Process { pid, parent, group, is_zombie: matches!(state, "Z" | "X") })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        Process { pid, parent, group: pid, is_zombie: false }
    }

    #[test]
    fn a_tree_is_what_hangs_below_and_nothing_else() {
        let all = [process(1, 0), process(10, 1), process(11, 10), process(12, 11), process(20, 1)];
        let mut pids: Vec<i32> = Tree::of(10, &all).members.iter().map(|process| process.pid).collect();
        pids.sort_unstable();
        assert_eq!(pids, [11, 12]);
    }

    #[test]
    fn the_living_below_a_zombie_are_found() {
        let dead = Process { is_zombie: true, ..process(11, 10) };
        assert_eq!(Tree::of(10, &[dead, process(12, 11)]).members, [process(12, 11)]);
    }

    #[test]
    fn a_name_full_of_parentheses_does_not_shift_the_fields() {
        assert_eq!(
            parse_stat(7, "7 (a) S 1 1 (b) Z 3 4 5"),
            Some(Process { pid: 7, parent: 3, group: 4, is_zombie: true })
        );
    }
}
