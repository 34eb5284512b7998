//! Writes the vectors of `spec/vectors`: files, and beside each what a reader has to make of it.
//!
//!     cargo run -p hrx-trace-tests --bin make-vectors [FOLDER]
//!
//! Nothing in them depends on the machine or the moment, so the same bytes come out every time. It builds on the layout alone
//! (`hrx-trace-format`), on no reader and no recorder: what is expected of a reader is stated, not computed.

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

/// The folder, empty, so that no vector outlives its maker.
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
        Files in the format of `../FORMAT.md`, for whoever writes a reader. Beside each file that is accepted lies what a reader has to make of it, in the\n\
        form that `../decode.py` prints; beside each that is refused, what it says behind the file's name.\n\n\
        Written by `cargo run -p hrx-trace-tests --bin make-vectors`, this page as well. Change the generator (`tests/src/bin/make-vectors`), not the files.\n",
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
