//! Snippets of the documentation that are meant to be pasted are whole: chains compile for every
//! site, hooks build and export what they must, Python uses no name that it does not make. What needs
//! nvcc or python3 skips with a reason without; `PDL_REQUIRE=codegen` makes a missing nvcc a failure.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The compile-time path: the documentation is where the source is, and this test does not travel.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A fenced block: file, language, text.
struct Snippet {
    file: PathBuf,
    language: String,
    text: String,
}

impl Snippet {
    /// The file that its first line, a comment, says it is.
    fn name(&self) -> &str {
        let first = self.text.lines().next().unwrap_or_default();
        first.trim_start_matches(['/', '#', ' '])
    }
}

fn snippets() -> Vec<Snippet> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap();
    let mut files: Vec<PathBuf> = docs.map(|entry| entry.unwrap().path()).collect();
    files.extend(["README.md", "python/README.md"].map(|name| root().join(name)));
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let mut open: Option<Snippet> = None;
        for line in text.lines() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(language), None) => {
                    let (file, language) = (file.clone(), language.to_owned());
                    open = Some(Snippet { file, language, text: String::new() });
                }
                (Some(_), Some(_)) => all.extend(open.take()),
                (None, Some(snippet)) => snippet.text += &format!("{line}\n"),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a fence is not closed", file.display());
    }
    all
}

fn of<'a>(all: &'a [Snippet], language: &str) -> Vec<&'a Snippet> {
    all.iter().filter(|snippet| snippet.language == language).collect()
}

fn nvcc() -> Option<pdl_lab::compile::Nvcc> {
    let found = pdl_lab::compile::Nvcc::find();
    if let Err(error) = &found {
        let required = std::env::var("PDL_REQUIRE").is_ok_and(|all| all.contains("codegen"));
        assert!(!required, "PDL_REQUIRE=codegen: {error}");
        eprintln!("skipped: {error}");
    }
    found.ok()
}

/// `pdl kernel` in a folder, where no device is seen.
fn kernel(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = assert_cmd::Command::cargo_bin("pdl").unwrap();
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("PDL_")) {
        command.env_remove(name);
    }
    command.env("CUDA_VISIBLE_DEVICES", "").current_dir(folder);
    command.arg("kernel").args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn chain_files_are_whole_and_fit_the_kernels_beside_them() {
    let all = snippets();
    let chains = of(&all, "toml");
    assert!(!chains.is_empty());
    for chain in chains {
        let folder = tempfile::tempdir().unwrap();
        for snippet in all.iter().filter(|s| s.file == chain.file) {
            if ["cuda", "toml"].contains(&snippet.language.as_str()) {
                std::fs::write(folder.path().join(snippet.name()), &snippet.text).unwrap();
            }
        }
        let place = format!("{}, {}", chain.file.display(), chain.name());
        let loaded = pdl_lab::chain_file::read(&folder.path().join(chain.name()));
        let loaded = loaded.unwrap_or_else(|error| panic!("{place}: {error}"));
        assert!(loaded.stamped(), "{place}: without stamps there is no proof");
        let cubins = folder.path().join("cubins").display().to_string();
        let Some(nvcc) = nvcc() else { continue };
        let nvcc = nvcc.path.display().to_string();
        let mut command = assert_cmd::Command::cargo_bin("pdl").unwrap();
        command.env("NVCC", nvcc).current_dir(folder.path());
        let output = command
            .args(["kernel", chain.name(), "--dry-run", "--cache", &cubins])
            .output()
            .unwrap();
        let text = said(&output);
        assert!(output.status.success(), "{place}: {text}");
        assert!(!text.contains("warning"), "{place}: {text}");
        for expected in ["site-1", "site-3", "checked: arguments of gemv"] {
            assert!(text.contains(expected), "{place}, {expected}: {text}");
        }
    }
}

#[test]
fn hooks_build_as_the_line_beside_them_says() {
    let all = snippets();
    let hooks: Vec<&Snippet> =
        of(&all, "cuda").into_iter().filter(|s| s.text.contains("pdl_hook.h")).collect();
    assert!(!hooks.is_empty());
    let Some(compiler) = nvcc() else { return };
    for hook in hooks {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(hook.name()), &hook.text).unwrap();
        let text = std::fs::read_to_string(&hook.file).unwrap();
        let line = text.lines().find(|line| line.trim().starts_with("nvcc -shared")).unwrap();
        let arguments = line.split_whitespace().skip(1).map(|word| match word {
            "-Iinclude" | "-Icuda" => format!("-I{}", root().join(&word[2..]).display()),
            word => word.to_owned(),
        });
        let built =
            Command::new(&compiler.path).args(arguments).current_dir(folder.path()).output();
        let built = built.unwrap();
        assert!(built.status.success(), "{}", said(&built));
        let looked = kernel(folder.path(), &["--library", "./libhook.so", "--dry-run"]);
        let text = said(&looked);
        assert!(looked.status.success(), "{text}");
        for expected in ["exports pdl_launch, pdl_memory, pdl_init", "sm_90: syncs 1, triggers 0"] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
    }
}

/// Fails with the names that are read and made nowhere.
const NAMES: &str = r"
import ast, builtins, sys
tree = ast.parse(sys.stdin.read())
made = set(dir(builtins))
for node in ast.walk(tree):
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        made |= {(name.asname or name.name).split('.')[0] for name in node.names}
    elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        made.add(node.name)
    elif isinstance(node, ast.arg):
        made.add(node.arg)
    elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        made.add(node.id)
read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
sys.exit(', '.join(sorted(read - made)) or 0)
";

#[test]
fn python_uses_no_name_that_it_does_not_make() {
    use std::io::Write;
    use std::process::Stdio;
    let all = snippets();
    let python = of(&all, "python");
    assert!(python.len() >= 3);
    let run = |text: &str| {
        let pipes = (Stdio::piped(), Stdio::piped());
        let mut child = Command::new("python3")
            .args(["-c", NAMES])
            .stdin(pipes.0)
            .stderr(pipes.1)
            .spawn()
            .ok()?;
        child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        Some(child.wait_with_output().unwrap())
    };
    let Some(undefined) = run("print(undefined)") else {
        eprintln!("skipped: python3 was not found");
        return;
    };
    assert_eq!(said(&undefined).trim(), "undefined");
    for snippet in python {
        let output = run(&snippet.text).unwrap();
        assert!(output.status.success(), "{}: {}", snippet.file.display(), said(&output));
    }
}

#[test]
fn the_first_graph_of_the_documentation_is_the_example() {
    let read = |name: &str| std::fs::read_to_string(root().join(name)).unwrap();
    let example = read("examples/pytorch_first.py");
    let code = &example[example.find("import torch").unwrap()..];
    let block = format!("```python\n{code}```\n");
    assert!(read("docs/attach.md").contains(&block), "docs/attach.md and the example differ");
}
