//! Which flags are handed to the compiler.
//!
//! nvcc gives its arguments to a shell when it starts the programs that it is made of: `-DX=$(…)`
//! runs what stands there, and `-Xcompiler "a;b"` does. So a flag may hold only what means nothing to a
//! shell.

/// Flags that run other programs, write other files, or make something else than one cubin.
const REFUSED: [&str; 21] = [
    "-ccbin",
    "--compiler-bindir",
    "-run",
    "--run",
    "-o",
    "--output-file",
    "-odir",
    "--output-directory",
    "-optf",
    "--options-file",
    "-dryrun",
    "--dryrun",
    "-ptx",
    "--ptx",
    "-fatbin",
    "--fatbin",
    "-c",
    "--compile",
    "-dc",
    "-rdc=true",
    "--relocatable-device-code=true",
];

/// Says why a flag is refused.
///
/// # Errors
/// The reason.
pub fn check_flag(flag: &str) -> Result<(), String> {
    let name = flag.split('=').next().unwrap_or(flag);
    if REFUSED.contains(&flag) || REFUSED.contains(&name) {
        return Err(format!("'{flag}' is refused: one cubin is made of each source, and no more"));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "_=+,./:@%-".contains(c);
    match flag.chars().find(|&c| !plain(c)) {
        None if !flag.is_empty() => Ok(()),
        None => Err("a flag is not empty".into()),
        Some(c) => Err(format!(
            "'{flag}' holds {c:?}, which nvcc hands to a shell: put it into the source, as a macro"
        )),
    }
}

/// The same for a folder of headers, which nvcc puts between double quotes.
///
/// # Errors
/// The reason.
pub fn check_folder(folder: &str) -> Result<(), String> {
    let meaning = |c: char| "$`\"\\".contains(c) || c.is_control();
    match folder.chars().find(|&c| meaning(c)) {
        None => Ok(()),
        Some(c) => Err(format!("'{folder}' holds {c:?}, which nvcc hands to a shell")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_means_nothing_to_a_shell_may_stand_in_a_flag() {
        for good in [
            "-O3",
            "-std=c++17",
            "-DTYPE=float",
            "--maxrregcount=64",
            "-Xptxas",
            "-v",
            "-gencode",
            "--use_fast_math",
            "-DX=0x10",
            "-Xptxas=-O3,-v",
        ] {
            assert_eq!(check_flag(good), Ok(()), "{good}");
        }
        for bad in [
            "-DX=$(touch x)",
            "-DX=`x`",
            "-DZ=a;touch",
            "-v;touch",
            "a|b",
            "a&b",
            "a b",
            "-D'X'",
            "-DX=\"s\"",
            "a>b",
            "a\\b",
            "a\nb",
            "*",
            "~",
            "#",
            "(",
            "",
            "-ccbin",
            "--compiler-bindir=/x",
            "-run",
            "-o",
            "-odir=x",
        ] {
            assert!(check_flag(bad).is_err(), "{bad}");
        }
        assert_eq!(check_folder("/home/a b (c); d/include"), Ok(()));
        for bad in ["/a/$(x)", "/a/`x`", "/a/\"", "/a\\b", "/a\nb"] {
            assert!(check_folder(bad).is_err(), "{bad}");
        }
    }
}
