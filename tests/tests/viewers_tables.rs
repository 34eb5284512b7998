//! JSON lines and CSV, read by pandas, polars and DuckDB as spec/OUTPUT.md says: every integer with all its digits, every label as text.

use std::fs;
use std::process::Command;

use hrx_trace_format::name::NAME_LABEL;
use hrx_trace_format::{ArgumentValue, Mark, Name, OpenRecord, Record};
use hrx_trace_tests::capture::{Capture, mark, region, running, value};
use hrx_trace_tests::programs::PROGRAMS;
use hrx_trace_tests::viewers::Tools;

/// Labels that engines take for other things, with ids that doubles and signed integers cannot hold.
const ROWS: [(&str, u64); 9] = [
    ("NA", (1 << 53) + 1),
    ("null", u64::MAX),
    ("nan", 1 << 63),
    ("1e5", (1 << 63) - 1),
    ("true", 0),
    ("007", 7),
    ("2026-12-01", 1),
    ("a \"quoted\", comma\nline", 2),
    ("", 3),
];
/// Samples that engines round, or take for missing ones. JSON has no numbers that are not finite.
const VALUES: [f64; 7] = [
    0.1,
    -2.5e-7,
    5e-324,
    f64::MAX,
    9_007_199_254_740_993.0,
    f64::NAN,
    f64::NEG_INFINITY,
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
    let mut capture = Capture::new(USUAL + ROWS.len() as u64 + VALUES.len() as u64 + 4);
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
    // What only few rows have, and the engines have not seen in the rows that they guess from.
    let group = capture.group("NA");
    capture.name(&Name::thread(6105, 0, "007"));
    let depth = capture.name(&Name::of(NAME_LABEL, "depth").in_group(group));
    let [batch, text] = ["batch", "a text"].map(|key| capture.key(key));
    for number in VALUES {
        capture.value(value(depth, USUAL + 1, number));
    }
    capture.mark_with(
        Mark {
            label_id: depth,
            thread_id: 6105,
            ..mark(1, USUAL + 2)
        },
        &[
            (batch, ArgumentValue::U64(u64::MAX)),
            (text, ArgumentValue::Text(b"null \"and\",\nmore")),
        ],
    );
    let running = OpenRecord {
        label_id: depth,
        thread_id: 6105,
        ..running(1, USUAL + 3)
    };
    capture.open_with(0, running, &[(batch, ArgumentValue::Bool(true))]);
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
        "import math
def check(rows):
    columns = getattr(rows, 'fetchnumpy', lambda: rows)()
    # Empty texts are missing in CSV for some engines; pandas has NaN where JSON has null.
    missing = lambda cell: cell is None or str(cell) in ('<NA>', '--') or (isinstance(cell, float) and math.isnan(cell))
    def plain(column):
        cells = columns[column]
        masked = getattr(cells, 'mask', None)
        masked = masked if hasattr(masked, '__len__') else [False] * len(cells)
        return [None if mask or missing(cell) else cell if isinstance(cell, (str, dict, float)) else int(cell) for mask, cell in zip(masked, cells)]
    text = lambda column: [cell or '' for cell in plain(column)]
    regions = [place for place, kind in enumerate(plain('kind')) if kind == 'region']
    expected = [('12', i, 0) for i in range({USUAL})] + {} + [('depth', 0, 0)]
    found = list(zip(text('label'), plain('correlation_id'), plain('copied_bytes')))
    found = [found[place] for place in regions]
    assert not any('float' in str(columns[column].dtype).lower() for column in ['correlation_id', 'start_ns', 'arguments_lost'])
    assert found == expected, [pair for pair in zip(found, expected) if pair[0] != pair[1]][:3]
    finite = [None if cell is None or not math.isfinite(cell) else float(cell) for cell in plain('value')]
    assert finite == [0.0] * {} + {} + [0.0, 0.0], finite[-12:]
    assert text('thread')[-3:] == ['', '007', '007'] and text('group')[-4:] == ['NA'] * 4 and text('group')[0] == ''
    of = lambda cell: cell if isinstance(cell, dict) else json.loads(cell)
    assert [of(cell) for cell in columns['arguments']][-3:] == [{{}}, {{'batch': 2**64 - 1, 'a text': 'null \"and\",\\nmore'}}, {{'batch': True}}]
    assert plain('state')[-1] == 'open' and plain('kind')[-2] == 'mark'
    print('exact')
",
        python(&ROWS),
        USUAL as usize + ROWS.len(),
        python_values(&VALUES)
    );
    let recipes: Vec<&str> = recipes.split_inclusive('\n').collect();
    let read = recipes
        .iter()
        .filter(|line| line.starts_with("rows = "))
        .count();
    assert_eq!(read, 6);
    let checked: String = recipes
        .iter()
        .map(|line| match line.starts_with("rows = ") {
            true => format!("{line}check(rows)\n"),
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

/// The samples as Python writes them; None: not finite.
fn python_values(values: &[f64]) -> String {
    let values = values.iter().map(|value| match value.is_finite() {
        true => format!("{value:?}"),
        false => "None".to_owned(),
    });
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}
