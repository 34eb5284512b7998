//! JSON lines and CSV, read by pandas, polars and DuckDB as spec/OUTPUT.md says: every integer with all its digits, every label as text.

use std::fs;
use std::process::Command;

use hrx_trace_format::Record;
use hrx_trace_tests::capture::{Capture, region};
use hrx_trace_tests::programs::PROGRAMS;
use hrx_trace_tests::viewers::Tools;

/// Labels that engines take for other things, with ids that doubles and signed integers cannot hold.
const ROWS: [(&str, u64); 8] = [
    ("NA", (1 << 53) + 1),
    ("null", u64::MAX),
    ("nan", 1 << 63),
    ("1e5", (1 << 63) - 1),
    ("true", 0),
    ("007", 7),
    ("2026-12-01", 1),
    ("a \"quoted\", comma\nline", 2),
];
/// Rows before those, so that what an engine guesses from the first rows is wrong.
const USUAL: u64 = 30_000;

/// The bug: ids such as 2^53 + 1 and 2^64 - 1 became floats by the recipe in OUTPUT.md, `read_json(lines=True)`, because the account's line lacks their
/// column; and labels "NA" and "null" became missing values. Found by reading them back.
#[test]
fn every_engine_reads_exact_integers_and_plain_labels() {
    let Some(tools) = Tools::query_engines() else {
        return;
    };
    let mut capture = Capture::new(USUAL + ROWS.len() as u64);
    let usual = capture.label("12");
    for i in 0..USUAL {
        capture.record(Record {
            label_id: usual,
            correlation_id: i,
            ..region(1, i, 1)
        });
    }
    for (label, id) in ROWS {
        let label_id = capture.label(label);
        capture.record(Record {
            label_id,
            correlation_id: id,
            copied_bytes: id,
            ..region(1, USUAL, 1)
        });
    }
    let folder = tempfile::tempdir().expect("a folder");
    let input = capture.write(folder.path(), "run.hrxt");
    for output in ["run.jsonl", "run.csv"] {
        let converted = Command::new(&PROGRAMS.convert)
            .arg(&input)
            .args(["-o", output])
            .current_dir(&folder)
            .output()
            .expect("hrx-convert starts");
        assert!(converted.status.success(), "{converted:?}");
    }
    let document = include_str!("../../spec/OUTPUT.md");
    let (_, recipes) = document.split_once("```python\n").expect("the recipes");
    let (recipes, _) = recipes.split_once("```\n").expect("their end");
    let check = format!(
        "def check(regions):
    regions = getattr(regions, 'fetchnumpy', lambda: regions)()
    plain = lambda column: [int(cell) if not isinstance(cell, str) else cell for cell in regions[column]]
    expected = [('12', i, 0) for i in range({USUAL})] + {}
    rows = list(zip(plain('label'), plain('correlation_id'), plain('copied_bytes')))
    assert not any('float' in str(regions[column].dtype).lower() for column in ['correlation_id', 'start_ns'])
    assert rows == expected, [pair for pair in zip(rows, expected) if pair[0] != pair[1]][:3]
    print('exact')
",
        python(&ROWS)
    );
    let recipes: Vec<&str> = recipes.split_inclusive('\n').collect();
    let read = recipes
        .iter()
        .filter(|line| line.starts_with("regions = "))
        .count();
    assert_eq!(read, 6);
    let checked: String = recipes
        .iter()
        .map(|line| match line.starts_with("regions = ") {
            true => format!("{line}check(regions)\n"),
            false => (*line).to_owned(),
        })
        .collect();
    let script = folder.path().join("recipes.py");
    fs::write(&script, check + &checked).expect("a script");
    let run = tools
        .python_command()
        .arg(&script)
        .current_dir(&folder)
        .output();
    let run = run.expect("Python starts");
    let complaint = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{complaint}");
    let exact = String::from_utf8_lossy(&run.stdout)
        .matches("exact")
        .count();
    assert_eq!(exact, read, "{complaint}");
}

/// The rows as Python writes them.
fn python(rows: &[(&str, u64)]) -> String {
    let rows = rows
        .iter()
        .map(|(label, id)| format!("({label:?}, {id}, {id})"));
    format!("[{}]", rows.collect::<Vec<_>>().join(", "))
}
