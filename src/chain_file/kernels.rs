//! Names of kernels in the text of sources: templates have no machine code before an instance is
//! named, so the compiler's output does not list them.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::Loaded;

/// Comments, of both kinds.
static COMMENT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?s)//[^\n]*|/\*.*?\*/").expect("the pattern is well formed"));
/// A kernel up to the bracket of its parameters, with what stands between: attributes and type.
static KERNEL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"__global__\b(?:\s|__launch_bounds__\s*\([^)]*\)|__cluster_dims__\s*\([^)]*\)|__maxnreg__\s*\([^)]*\)|void\b|static\b|inline\b)*([A-Za-z_][A-Za-z0-9_]*)\s*\(",
    )
    .expect("the pattern is well formed")
});

impl Loaded {
    /// Kernel templates of the sources, and of the files of the chain file's folder that they
    /// include: names without namespaces, each once. Kernels that macros make are not seen.
    pub fn kernel_templates(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for (_, text) in self.texts() {
            for name in templates(&text) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }
}

fn templates(text: &str) -> Vec<String> {
    let text = COMMENT.replace_all(text, " ");
    let kernels = KERNEL.captures_iter(&text).filter_map(|found| {
        let begin = found.get(0)?.start();
        // A declaration begins behind the last one's end.
        let before = &text[..begin];
        let own = before.rfind([';', '{', '}']).map_or(before, |at| &before[at + 1..]);
        own.contains("template").then(|| found[1].to_owned())
    });
    kernels.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_found_and_plain_kernels_are_not() {
        for (text, expected) in [
            ("template <int N> __global__ void second(float* x) {}", &["second"][..]),
            (
                "template <int N>\n__global__ void __launch_bounds__(N, 2)\n  gemv(float*);",
                &["gemv"],
            ),
            ("template <class T>\n__launch_bounds__(128) __global__ void f(T) {}", &["f"]),
            ("template <int N> __global__ __launch_bounds__(128) void g (int) {}", &["g"]),
            ("template <int N> int h() { return N; }\n__global__ void plain(float*) {}", &[]),
            ("// template <int N>\n__global__ void plain(int) {}", &[]),
            (
                "/* template <int N> __global__ void a(int); */ extern \"C\" __global__ void b();",
                &[],
            ),
            (
                "template <int A>\nstatic __global__ void one(int);\ntemplate <int A> __global__ void two();",
                &["one", "two"],
            ),
        ] {
            assert_eq!(templates(text), expected, "{text}");
        }
    }
}
