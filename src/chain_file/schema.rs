//! The published schema of chain files is that of the types; `BLESS=1` accepts a change.

use std::borrow::Cow;
use std::path::Path;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Arg, AxisValues, ChainFile, Dims, Expr, Fill, SiteText};

macro_rules! written {
    ($kind:ty, $name:literal, $schema:expr) => {
        impl JsonSchema for $kind {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let make: fn(&mut SchemaGenerator) -> Schema = $schema;
                make(generator)
            }
        }
    };
}

written!(Expr, "Expr", |_| json_schema!({
    "description": "A whole number, or an expression over axes: + - * / %, parentheses, \
                    ceil_div(a, b), min(a, b), max(a, b).",
    "type": ["integer", "string"],
}));
written!(Dims, "Dims", |generator| {
    let expr = generator.subschema_for::<Expr>();
    json_schema!({ "anyOf": [expr, { "type": "array", "items": expr, "minItems": 1, "maxItems": 3 }] })
});
written!(AxisValues, "AxisValues", |_| json_schema!({
    "anyOf": [
        { "type": "integer" },
        { "type": "array", "items": { "type": "integer" }, "minItems": 1 },
    ],
}));
written!(SiteText, "Sites", |_| json_schema!({
    "description": "A site (2), several (\"1+4\"), or \"implicit\" for none.",
    "anyOf": [
        { "type": "integer", "minimum": 0, "maximum": 31 },
        { "type": "string", "pattern": "^(implicit|none|[0-9]+(\\+[0-9]+)*)$" },
    ],
}));
written!(Fill, "Fill", |_| json_schema!({
    "anyOf": [
        { "enum": ["poison", "zeros", "iota", "random"] },
        {
            "type": "object",
            "properties": { "npy": { "type": "string" } },
            "required": ["npy"],
            "additionalProperties": false,
        },
        {
            "type": "object",
            "properties": { "random": {
                "type": "object",
                "properties": {
                    "seed": { "type": "integer", "minimum": 0 },
                    "low": { "type": "number" },
                    "high": { "type": "number" },
                },
                "additionalProperties": false,
            } },
            "required": ["random"],
            "additionalProperties": false,
        },
    ],
}));
written!(Arg, "Arg", |generator| {
    let expr = generator.subschema_for::<Expr>();
    let list = generator.subschema_for::<Vec<Arg>>();
    let one = |name: &str, value: serde_json::Value| {
        serde_json::json!({
            "type": "object",
            "properties": { name: value },
            "required": [name],
            "additionalProperties": false,
        })
    };
    let mut kinds = vec![
        serde_json::json!({ "type": "string", "description": "The address of a buffer." }),
        serde_json::json!({
            "type": "object",
            "properties": { "buffer": { "type": "string" }, "offset": expr },
            "required": ["buffer"],
            "additionalProperties": false,
        }),
    ];
    for name in ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"] {
        kinds.push(one(name, serde_json::json!(expr)));
    }
    for name in ["f32", "f64"] {
        kinds.push(one(name, serde_json::json!({ "type": "number" })));
    }
    kinds.push(one("bytes", serde_json::json!({ "type": "string" })));
    kinds.push(one("struct", serde_json::json!(list)));
    json_schema!({ "anyOf": kinds })
});

fn generated() -> String {
    let generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let mut schema = generator.into_root_schema_for::<ChainFile>();
    schema.insert("title".into(), "A chain file of pdl kernel, version 1.0".into());
    serde_json::to_string_pretty(&schema).unwrap() + "\n"
}

#[test]
fn the_published_schema_is_that_of_the_types() {
    let name = "schema/chain-1.0.json";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, generated()).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(published == generated(), "{name} is not what the types say: accept with BLESS=1");
}
