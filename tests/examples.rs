//! Every example compiles for every site, and its kernels, arguments and syncs are what its chain
//! file says. Needs nvcc: without one the test skips with a reason, and `PDL_REQUIRE=codegen` makes
//! that a failure.

use std::path::Path;

use assert_cmd::Command;

fn pdl(arguments: &[&str]) -> assert_cmd::assert::Assert {
    let mut command = Command::cargo_bin("pdl").unwrap();
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PDL_")) {
        command.env_remove(name);
    }
    command.current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).assert()
}

#[test]
fn every_example_compiles_and_fits_its_chain_file() {
    if let Err(error) = pdl_lab::compile::Nvcc::find() {
        let required = std::env::var("PDL_REQUIRE").is_ok_and(|all| all.contains("codegen"));
        assert!(!required, "PDL_REQUIRE=codegen: {error}");
        eprintln!("skipped: {error}");
        return;
    }
    let cache = tempfile::tempdir().unwrap();
    let cache = cache.path().display().to_string();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let folder = entry.unwrap().path();
        let file = folder.join("chain.toml");
        // The cubin of the Triton example is made where Triton is.
        if !file.exists() || !folder.join("kernels.cu").exists() {
            continue;
        }
        let file = file.display().to_string();
        let first = pdl(&["kernel", &file, "--dry-run", "--cache", &cache]).success();
        let text = String::from_utf8_lossy(&first.get_output().stdout).into_owned();
        assert!(text.contains("site-1") && text.contains("implicit"), "{text}");
        let again = pdl(&["kernel", &file, "--dry-run", "--cache", &cache]).success();
        let again = String::from_utf8_lossy(&again.get_output().stdout).into_owned();
        assert!(again.contains("(0 of them compiled now)"), "{again}");
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn bad_input_is_an_error_and_never_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chain.toml");
    let path = file.display().to_string();
    for text in ["", "sources = []\nnodes = []\n", "sources = 1", "\u{0}", "[[[", "nodes = [{}]"] {
        std::fs::write(&file, text).unwrap();
        let failed = pdl(&["kernel", &path, "--dry-run"]).failure();
        let said = String::from_utf8_lossy(&failed.get_output().stderr).into_owned();
        assert!(
            said.starts_with("pdl: cannot ") && said.contains("chain.toml"),
            "{text:?}: {said}"
        );
    }
    std::fs::write(&file, [0xff, 0xfe, 0x00]).unwrap();
    pdl(&["kernel", &path, "--dry-run"]).failure();
    pdl(&["kernel", "/nonexistent.toml", "--dry-run"]).failure().code(1);
    pdl(&["kernel"]).failure().code(2);
}

#[test]
fn the_code_in_the_readme_is_the_example_that_is_compiled() {
    let read = |name: &str| {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
    };
    let block = format!("```rust\n{}```\n", read("examples/library.rs"));
    assert!(read("README.md").contains(&block), "README.md and examples/library.rs differ");
}
