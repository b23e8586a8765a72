//! Chain files as people write them, right and wrong.

use super::*;

const GOOD: &str = r#"
sources = ["a.cu"]
flags = ["-O3"]
defines = ["TILE"]
repeat = "4 * M"

[axes]
M = [1, 2]
TILE = 64
HIDDEN = 4096

[buffers.x]
type = "f32"
length = "M * HIDDEN"
fill = "random"

[buffers.h]
type = "f16"
length = "M * HIDDEN"

[[nodes]]
kernel = "rmsnorm"
grid = "M"
block = 256
args = ["x", "h", { i32 = "HIDDEN" }, { f32 = 1e-5 }]

[[nodes]]
kernel = "gemv<64>"
grid = ["ceil_div(HIDDEN, TILE)", "M"]
block = [32, 4]
shared = "TILE * 4"
args = [{ buffer = "h", offset = "HIDDEN / 2" }, { struct = [{ u8 = 1 }, "x", { i16 = -2 }] }, { bytes = "00 01ff" }]
edge = "full"
"#;

/// Reads `text` as a chain file beside one source.
fn read_text(text: &str) -> Result<Loaded> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.cu"), "").unwrap();
    std::fs::write(folder.path().join("a.txt"), "").unwrap();
    let path = folder.path().join("chain.toml");
    std::fs::write(&path, text).unwrap();
    read(&path)
}

fn axes(m: i64) -> Axes {
    [("M", m), ("TILE", 64), ("HIDDEN", 4096)].map(|(n, v)| (n.to_owned(), v)).into()
}

#[test]
fn a_file_resolves_to_numbers() {
    let loaded = read_text(GOOD).unwrap();
    assert_eq!(loaded.variants().unwrap(), [axes(1), axes(2)]);
    assert_eq!(loaded.policy_axis(), Some("M"));
    let chain = loaded.resolve(&axes(2)).unwrap();
    assert_eq!(chain.repeat, 8);
    let [h, x] = &chain.buffers[..] else { panic!("two buffers") };
    assert_eq!((h.bytes(), h.copies_of(8), &h.fill), (2 * 8192, 8, &Fill::Poison));
    assert_eq!((x.bytes(), x.copies_of(8)), (4 * 8192, 1));
    let [norm, gemv] = &chain.nodes[..] else { panic!("two nodes") };
    assert_eq!((norm.grid, norm.block, norm.edge), ([2, 1, 1], [256, 1, 1], Edge::Programmatic));
    assert_eq!((gemv.grid, gemv.shared_bytes, gemv.edge), ([64, 2, 1], 256, Edge::Full));
    assert_eq!(norm.args[2].bytes, 4096_i32.to_le_bytes());
    assert_eq!(norm.args[3].bytes, 1e-5_f32.to_le_bytes());
    assert_eq!(gemv.args[0].addresses, [(0, 0, 2048 * 2)]);
    // u8, pad to 8, address, i16, pad to 24: as C lays it out.
    let expected = [&[1][..], &[0; 15], &[0xfe, 0xff], &[0; 6]].concat();
    assert_eq!(gemv.args[1].bytes, expected);
    assert_eq!((gemv.args[1].align, &gemv.args[1].addresses[..]), (8, &[(8, 1, 0)][..]));
    assert_eq!(gemv.args[2].bytes, [0, 1, 0xff]);
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let table = [
        (
            "kernel = \"rmsnorm\"",
            "kernal = \"rmsnorm\"",
            ":22:1: unknown field `kernal`",
            "did you mean kernel",
        ),
        ("grid = \"M\"", "grid = \"MM\"", ":23:8: 'MM' is no axis", "did you mean M"),
        ("grid = \"M\"", "grid = \"M - 1\"", ":23:8: the grid is 0 with", "from 1 to"),
        ("grid = \"M\"", "grid = [1, 1, 1, 1]", ":23:8: one to three", ""),
        ("block = 256", "block = 2048", ":24:9: the block is 2048", "from 1 to 1024"),
        ("block = [32, 4]", "block = [32, 64]", ":30:9: a block of 2048 threads", ""),
        (
            "[\"x\", \"h\"",
            "[\"x\", \"hh\"",
            ":25:8: argument 2 of rmsnorm: 'hh' is no buffer",
            "did you mean h",
        ),
        ("{ i32 = \"HIDDEN\" }", "7", ":25:19", "7 has no type"),
        (
            "{ i32 = \"HIDDEN\" }",
            "\"HIDDEN\"",
            ":25:8: argument 3 of rmsnorm: 'HIDDEN' is an axis and no buffer",
            "write { i32 = \"HIDDEN\" }",
        ),
        ("[\"x\", \"h\"", "[\"x\", \"weights\"", "'weights' is no buffer; buffers: h, x", ""),
        ("grid = \"M\"", "grid = \"Q\"", ":23:8: 'Q' is no axis; axes: ", ""),
        ("{ u8 = 1 }", "{ u8 = 256 }", ":32:8: argument 2", "256 is no u8"),
        ("offset = \"HIDDEN / 2\"", "offset = \"M * HIDDEN\"", "lies outside 'h'", ""),
        ("bytes = \"00 01ff\"", "bytes = \"00 1\"", "pairs of hexadecimal digits", ""),
        (
            "fill = \"random\"",
            "fill = \"randm\"",
            ":15:8: 'randm' is no fill",
            "did you mean random",
        ),
        ("type = \"f16\"", "type = \"half\"", "unknown variant `half`", ""),
        ("length = \"M * HIDDEN\"\n\n[[", "length = \"1 << 40\"\n\n[[", "'<' was not expected", ""),
        ("HIDDEN = 4096", "HIDDEN = 4000000000000", "and is from 1 to", ""),
        ("\"a.cu\"", "\"../a.cu\"", ":2:12: '../a.cu' lies outside", ""),
        ("\"a.cu\"", "\"b.cu\"", ":2:12: 'b.cu'", "No such file"),
        ("\"a.cu\"", "\"a.txt\"", "neither .cu nor .ptx", ""),
        (
            "defines = [\"TILE\"]",
            "defines = [\"TYLE\"]",
            ":4:12: 'TYLE' is no axis",
            "did you mean TILE",
        ),
        ("repeat = \"4 * M\"", "repeat = \"M / 8\"", ":5:10: repeat is 0", ""),
        ("repeat = \"4 * M\"", "repeat = 4\n[verify]\noutputs = [\"y\"]", "'y' is no buffer", ""),
        ("edge = \"full\"", "edge = \"ful\"", "unknown variant `ful`", "did you mean full"),
        ("[axes]", "[axes", ":7:6", ""),
    ];
    let mut wrong = Vec::new();
    for (from, to, place, hint) in table {
        assert!(GOOD.contains(from), "{from}");
        let error = read_text(&GOOD.replacen(from, to, 1)).unwrap_err().to_string();
        if !(error.contains(place) && error.contains(hint)) {
            wrong.push(format!("{to}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn triggers_are_those_that_are_marked() {
    let marked = Sites { triggers: 0b1_0110, syncs: 0b10 };
    let texts = |text: &str| -> Vec<String> {
        let triggers = read_text(text).unwrap().triggers(marked).unwrap();
        triggers.iter().map(Trigger::to_string).collect()
    };
    assert_eq!(texts(GOOD), ["site-1", "site-2", "site-4", "implicit"]);
    let chosen = format!("{GOOD}\n[sweep]\ntrigger = [2, \"1+4\", \"implicit\"]\nsync = [1]\n");
    assert_eq!(texts(&chosen), ["site-2.sync-1", "site-1+4.sync-1", "site-none.sync-1"]);
    let unmarked = format!("{GOOD}\n[sweep]\ntrigger = [3]\n");
    let error = read_text(&unmarked).unwrap().triggers(marked).unwrap_err().to_string();
    assert!(error.contains("marks that trigger site: 1+2+4 are marked"), "{error}");
}
