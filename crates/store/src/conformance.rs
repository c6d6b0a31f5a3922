//! Every promise of [`Store`](crate::Store) as a test.
//!
//! A backend writes a [`Fixture`] and one line, [`store_conformance!`](crate::store_conformance), and
//! gets all cases; there is no list to forget one from. Cases know nothing of any backend. Those that
//! are numbered checks of the event log's specification carry the number in their name.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a case fails by panicking")]
#![expect(missing_docs, reason = "the names of cases and samples say what they are")]

mod append;
mod blob;
mod chain;
mod close;
mod command;
mod damage;
mod document;
mod erase;
mod feed;
mod lease;
mod list;
mod note;
mod open_run;
mod prune;
mod read;
pub mod sample;
mod side_record;
mod tail;
mod twin;

use futures_util::future::BoxFuture;
use r1_event::Digest;

pub use self::append::*;
pub use self::blob::*;
pub use self::chain::*;
pub use self::close::*;
pub use self::command::*;
pub use self::damage::*;
pub use self::document::*;
pub use self::erase::*;
pub use self::feed::*;
pub use self::lease::*;
pub use self::list::*;
pub use self::note::*;
pub use self::open_run::*;
pub use self::prune::*;
pub use self::read::*;
pub use self::side_record::*;
pub use self::tail::*;
pub use self::twin::twin;
use crate::store::SharedStore;

/// An empty store of a backend, made for one case.
pub trait Fixture: Send + Sync {
    /// Opens the store; each call is a further opening of the same one.
    fn open(&self) -> BoxFuture<'_, SharedStore>;

    /// Changes a stored blob behind the store's back; false where nothing can reach it.
    fn damage_blob(&self, hash: Digest) -> BoxFuture<'_, bool>;

    /// Changes the tables behind the store's back, by a statement that names them after an `@`; false where there
    /// are none.
    fn damage<'a>(&'a self, statement: &'a str) -> BoxFuture<'a, bool>;
}

/// Makes a test of every case for the fixture that the expression gives; it may `.await`.
#[macro_export]
macro_rules! store_conformance {
    ($fixture:expr) => {
        $crate::store_conformance!(@each $fixture =>
            log_10_append_is_all_or_nothing,
            log_10_a_conflict_carries_the_head,
            log_10_of_two_batches_for_one_place_one_is_stored,
            log_10_a_fenced_writer_is_refused,
            log_10_a_lease_on_another_run_is_refused,
            log_10_nothing_follows_the_terminal_event,
            log_10_a_malformed_or_oversized_payload_is_refused_before_anything_is_written,
            log_10_a_missing_blob_refuses_the_whole_batch,
            an_empty_batch_changes_nothing,
            many_writers_at_once_each_keep_their_order,
            a_v1_log_is_kept_as_it_is,
            the_chain_is_the_writers_at_every_size,
            the_chain_of_a_finished_run_knows_its_end,
            a_reopened_store_goes_on_where_it_ended,
            reading_pages_through_a_log_without_gap,
            pages_of_events_that_differ_in_size_miss_none,
            what_is_added_while_pages_are_read_is_read_too,
            a_page_holds_one_event_however_small_its_limit,
            a_page_stops_at_its_byte_limit,
            reading_what_is_not_there_is_empty,
            a_damaged_log_is_read_row_by_row_to_its_end,
            a_damaged_side_record_hides_neither_log_nor_other_records,
            a_damaged_entry_is_one_entry_of_the_listing,
            the_feed_has_every_event_once_in_run_order,
            a_feed_cursor_goes_on_across_openings,
            the_end_of_the_feed_is_behind_what_is_committed_and_before_what_is_not,
            runs_are_listed_newest_first_page_by_page,
            runs_are_filtered_by_prefix_state_and_age,
            a_runs_summary_follows_its_log,
            a_lease_is_held_until_it_runs_out,
            a_lease_can_be_taken_before_the_run_exists,
            an_expired_lease_writes_until_it_is_taken_over,
            renewing_extends_and_a_lost_lease_is_not_renewed,
            releasing_lets_the_next_one_in,
            tokens_grow_across_openings,
            taking_a_lease_tells_who_never_gave_it_back,
            a_lease_that_was_given_back_is_gone,
            many_leases_are_renewed_at_once,
            many_leases_are_read_at_once,
            open_runs_without_a_good_lease_are_found_oldest_first,
            commands_wait_in_the_order_in_which_they_were_left,
            the_same_id_twice_is_one_command,
            a_command_for_a_run_that_cannot_carry_it_out_is_refused,
            commands_are_bounded_in_size_and_number,
            a_settled_command_is_removed_with_its_events,
            settling_what_was_withdrawn_refuses_the_whole_batch,
            a_command_is_either_settled_or_withdrawn,
            of_two_batches_that_settle_one_command_one_is_stored,
            commands_end_with_their_run,
            no_command_is_left_behind_the_end_of_a_run,
            the_holder_is_woken_here_and_in_another_opening,
            another_holder_finds_what_was_left_for_the_first,
            a_document_comes_back_as_it_was_written,
            a_document_is_written_only_as_expected,
            documents_change_all_or_none,
            of_many_writers_of_one_document_one_gets_through,
            documents_are_listed_by_rank_then_key_page_by_page,
            documents_are_found_by_all_of_their_facets,
            a_document_is_forgotten_at_its_time,
            documents_are_bounded_in_size,
            a_note_is_written_with_its_batch,
            a_note_that_moved_refuses_the_whole_batch,
            of_two_batches_with_one_note_one_is_stored,
            a_note_is_bounded_in_size,
            side_records_are_kept_in_order_and_once,
            side_records_that_do_not_belong_are_refused,
            log_15_erasing_keeps_chain_proofs_and_seal,
            log_15_erasing_twice_keeps_the_first_record,
            log_15_erasing_what_is_not_there_erases_nothing,
            log_15_a_v1_payload_is_not_erased,
            log_15_pruning_keeps_chain_and_rest,
            log_15_pruning_again_goes_on_or_is_the_same,
            log_15_pruning_is_refused_unless_it_fits_the_log,
            log_18_a_run_begins_behind_what_was_pruned_elsewhere,
            log_18_a_pruned_beginning_is_refused_where_it_does_not_fit,
            log_16_the_same_content_is_kept_once,
            log_16_a_large_blob_comes_back_in_pieces,
            log_16_a_damaged_blob_is_found_on_reading,
            log_16_unreferenced_blobs_are_collected_referenced_never,
            log_16_a_blob_is_freed_when_its_events_are_pruned,
            log_16_storing_again_makes_a_blob_young,
            log_16_content_that_cannot_be_read_leaves_nothing,
            log_13_a_tail_is_history_then_live,
            log_13_a_tail_waits_for_a_run_to_begin,
            log_13_many_tails_beside_many_writers_miss_nothing,
            log_13_a_tail_begins_behind_what_was_pruned,
            log_13_a_tail_behind_the_end_is_over,
            log_13_the_feed_tail_sees_every_run,
            log_13_a_tail_goes_on_in_another_opening,
            closing_refuses_everything_and_ends_tails,
            a_store_tells_what_it_is,
        );
    };
    (@each $fixture:expr => $($case:ident,)+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                $crate::conformance::$case(&$fixture).await;
            }
        )+
    };
}
