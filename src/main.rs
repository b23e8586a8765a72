//! The `pdl` binary: parse, run, print the error, exit code.

use std::process::ExitCode;

use clap::Parser;
use pdl_lab::cli::Cli;
use pdl_lab::{cmd, interrupt};

fn main() -> ExitCode {
    let cli = Cli::parse();
    interrupt::install();
    interrupt::install_last_words(|error| cmd::note(error));
    match cmd::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            cmd::note(&error);
            error.exit_code()
        }
    }
}
