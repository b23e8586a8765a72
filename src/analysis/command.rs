//! The command that measured a run, as a shell takes it.

use std::fmt::Write;

use crate::record::Manifest;

/// Variables that say how tests and packs behave and change no measurement.
const IDLE: [&str; 2] = ["PDL_PACK", "PDL_REQUIRE"];
/// The benchmark, with cargo's hash behind it.
const BENCHMARK: &str = "trigger_sweep";
/// Flags that say where a run goes, and their variables.
const PLACES: [&str; 2] = ["out", "resume"];

/// The exact command: the variables that were set, then the command line. The benchmark takes all
/// from variables and is the same as the sweep.
pub fn exact_command(manifest: &Manifest) -> String {
    command(manifest, false)
}

/// The same without where the run went: what a reader types to measure it again.
pub fn repeat_command(manifest: &Manifest) -> String {
    command(manifest, true)
}

fn command(manifest: &Manifest, anywhere: bool) -> String {
    let place = |name: &str| {
        let flag = |place: &str| format!("PDL_{}", place.to_uppercase()) == name;
        anywhere && PLACES.iter().any(|place| flag(place))
    };
    let set = manifest.environment.iter();
    let set = set.filter(|(name, _)| is_variable(name) && !place(name));
    let mut words: Vec<String> =
        set.map(|(name, value)| format!("{name}={}", quote(value))).collect();
    let (program, arguments) = match manifest.argv.split_first() {
        Some((program, arguments)) if program == "pdl" => ("pdl".to_owned(), arguments),
        // A program of somebody else that used the library.
        Some((program, arguments)) if !program.starts_with(BENCHMARK) => {
            (quote(program), arguments)
        }
        _ => ("pdl sweep".to_owned(), &[][..]),
    };
    words.push(program);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let flag = |place: &str| argument.strip_prefix("--").and_then(|a| a.strip_prefix(place));
        match PLACES.iter().find_map(|place| flag(place)) {
            Some("") if anywhere => drop(arguments.next()),
            Some(rest) if anywhere && rest.starts_with('=') => {}
            _ => words.push(quote(argument)),
        }
    }
    words.join(" ")
}

/// Whether a name is that of a variable of this program that can change what is measured. A
/// manifest may come from anywhere, and nothing else may become part of a command.
fn is_variable(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    name.starts_with("PDL_") && name.bytes().all(letter) && !IDLE.contains(&name)
}

/// One word for a POSIX shell; control characters, which a line cannot hold, for bash.
fn quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:=,@%+-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    if !word.chars().any(char::is_control) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let mut quoted = "$'".to_owned();
    for c in word.chars() {
        match c {
            '\\' | '\'' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted + "'"
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::analysis::fixture::Fixture;

    fn manifest(argv: &[&str], environment: &[(&str, &str)]) -> Manifest {
        let mut manifest = Fixture::new(&[], 1, 0.0, &|_, _| 0.0).manifest;
        manifest.argv = argv.iter().map(|&word| word.to_owned()).collect();
        let set = environment.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()));
        manifest.environment = set.collect();
        manifest
    }

    #[test]
    fn a_command_is_repeated_without_the_place_it_wrote_to() {
        let argv = ["pdl", "sweep", "--out", "a b", "--nodes=10", "--resume=x", "--body-us", "4"];
        let manifest = manifest(&argv, &[("PDL_OUT", "x"), ("PDL_SEED", "7"), ("PDL_PACK", "1")]);
        assert_eq!(
            exact_command(&manifest),
            "PDL_OUT=x PDL_SEED=7 pdl sweep --out 'a b' --nodes=10 --resume=x --body-us 4"
        );
        assert_eq!(repeat_command(&manifest), "PDL_SEED=7 pdl sweep --nodes=10 --body-us 4");
    }

    #[test]
    fn a_benchmark_is_the_sweep_with_its_variables() {
        let manifest = manifest(&["trigger_sweep-1f", "--bench"], &[("PDL_NODES", "10")]);
        assert_eq!(exact_command(&manifest), "PDL_NODES=10 pdl sweep");
    }

    #[test]
    fn a_manifest_of_a_stranger_adds_nothing_but_words() {
        let set = [("PDL_X;id", "1"), ("LD_PRELOAD", "x"), ("PDL_NODES", "1;id")];
        let manifest = manifest(&["pdl", "sweep;id"], &set);
        assert_eq!(exact_command(&manifest), "PDL_NODES='1;id' pdl 'sweep;id'");
    }

    #[test]
    fn a_shell_reads_back_every_word() {
        let words =
            ["", "a b", "it's", "$(id)`id`\"", "x\ny", "t\t\\'\u{1b}[31m", "<script>", "µ€"];
        let argv: Vec<&str> = ["pdl"].into_iter().chain(words).collect();
        let text = exact_command(&manifest(&argv, &[]));
        assert!(!text.contains(char::is_control), "{text}");
        let script = text.replacen("pdl", "printf '%s\\0'", 1);
        let said = Command::new("bash").arg("-c").arg(&script).env("LC_ALL", "C.UTF-8").output();
        // A machine without bash has scripts that do not run either.
        let Ok(said) = said else { return };
        let expected: String = words.iter().map(|word| format!("{word}\0")).collect();
        assert_eq!(String::from_utf8(said.stdout).unwrap(), expected, "{script}");
    }
}
