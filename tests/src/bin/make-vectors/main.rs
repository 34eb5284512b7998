//! Writes the vectors of `spec/vectors`: files, each with what a reader must make of it.
//!
//!     cargo run -p hrx-trace-tests --bin make-vectors [FOLDER]
//!
//! Nothing in them depends on the machine or the time, so every run writes the same bytes. The generator uses only the layout
//! (`hrx-trace-format`), neither the reader nor the recorder: what a reader must make of a file is stated, not computed.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

mod image;
mod invalid;
mod torn;
mod valid;

use image::Image;

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec/vectors"),
        PathBuf::from,
    );
    let valid = valid::images();
    let torn = torn::images();
    let invalid = invalid::files();

    for (kind, images) in [("valid", &valid), ("torn", &torn)] {
        let folder = fresh(folder.join(kind))?;
        for image in images {
            let document = image.document().to_json();
            fs::write(folder.join(format!("{}.hrxt", image.name)), &image.bytes)?;
            fs::write(folder.join(format!("{}.json", image.name)), document)?;
        }
    }
    let invalid_folder = fresh(folder.join("invalid"))?;
    for file in &invalid {
        fs::write(
            invalid_folder.join(format!("{}.hrxt", file.name)),
            &file.bytes,
        )?;
        fs::write(
            invalid_folder.join(format!("{}.txt", file.name)),
            format!("{}\n", file.error),
        )?;
    }
    fs::write(folder.join("README.md"), readme(&valid, &torn, &invalid))
}

/// Empties the folder, so that no vector stays that is no longer generated.
fn fresh(folder: PathBuf) -> io::Result<PathBuf> {
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(&folder)?,
    }
    Ok(folder)
}

fn readme(valid: &[Image], torn: &[Image], invalid: &[invalid::Refused]) -> String {
    let mut text = String::from(
        "# Vectors\n\n\
        Files in the format of `../FORMAT.md`, to test a reader with. Each accepted file has a `.json` that says what a reader must make of it, in the\n\
        form that `../decode.py` prints; each refused file has a `.txt` with the error message, without the file's name.\n\n\
        `cargo run -p hrx-trace-tests --bin make-vectors` writes all of this, this page included. Change the generator (`tests/src/bin/make-vectors`), not the files.\n",
    );
    for (heading, images) in [
        ("valid: nothing went wrong", valid),
        ("torn: crash images and damage", torn),
    ] {
        let _ = write!(
            text,
            "\n## {heading}\n\n| file | what it is for |\n|---|---|\n"
        );
        for image in images {
            let _ = writeln!(text, "| `{}` | {} |", image.name, image.purpose);
        }
    }
    text.push_str("\n## invalid: refused\n\n| file | why |\n|---|---|\n");
    for file in invalid {
        let _ = writeln!(text, "| `{}` | {} |", file.name, file.reason);
    }
    text
}
