//! The program as a user meets it: commands, files, exit codes, messages. Needs no GPU.

mod bad_input;
mod bad_runs;
mod calibrate;
mod compare;
mod datasheet;
mod dry_run;
mod environment;
mod findings;
mod help;
mod inspect;
mod interruption;
mod kills;
mod output;
mod place;
mod predict;
mod program;
mod run;
mod timeline;
mod tune;
