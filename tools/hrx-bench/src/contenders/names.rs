//! What tables call the contenders. A contender that several tables show has one name in all of them: `hrx-bench/report` joins tables by it.

pub const BASELINE: &str = "mutex and deque in memory (baseline)";
pub const NOTHING: &str = "nothing (the loop itself)";
pub const STORES: &str = "64-byte stores (the limit)";
pub const RECORD_TMPFS: &str = "record, tmpfs";
pub const RECORD_DISK: &str = "record, disk";
pub const TRACER: &str = "record through Tracer";
pub const WRITER: &str = "record by a Writer";
pub const RECORD_BETWEEN: &str = "record_between, own clock reads";
pub const RECORD_BETWEEN_BY_WRITER: &str = "record_between by a Writer, own clock reads";
pub const MARK: &str = "mark, own clock read";
pub const VALUE: &str = "value, own clock read";
pub const TWO_ARGUMENTS: &str = "begin + two arguments + finish, own clock reads";
pub const BEGIN_FINISH: &str = "begin + finish, own clock reads";
pub const BEGIN_FINISH_OWNED: &str = "begin_owned + finish, own clock reads";
pub const BEGIN_FINISH_BY_WRITER: &str = "begin + finish by a Writer, own clock reads";
pub const REGISTRY: &str = "a span entered and left, bare registry";
pub const LAYER: &str = "a span entered and left, with the tracing layer";
pub const LAYER_FIELDS: &str = "a span with two fields entered and left, with the tracing layer";
