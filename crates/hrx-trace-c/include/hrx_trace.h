// hrx-trace: traces that survive the crash. All times are host-observed: driver and scheduling overhead are in them, and they are never device timestamps.
//
//     hrxt_recorder *recorder = NULL;
//     if (hrxt_create("run.hrxt", NULL, &recorder) != 0) { ... }
//     hrxt_label_t gemm = hrxt_label(recorder, "gemm");
//
//     hrxt_region_t region = hrxt_begin(recorder, HRXT_LANE_COMPUTE, gemm);
//     ...
//     hrxt_end(region);
//
//     hrxt_close(recorder);
//
// Functions return 0, or a negative errno: see hrxt_strerror. What records takes no lock, allocates nothing, makes no system call, and may be called from any
// thread and in signal handlers. A null or closed recorder, and a region that has ended, are refused by every call with -EBADF, and nothing happens.
//
// Made by cbindgen from crates/hrx-trace-c, by `HRX_BLESS=1 cargo test -p hrx-trace-c --test header`.
#ifndef HRX_TRACE_H
#define HRX_TRACE_H


#include <stddef.h>
#include <stdint.h>

#define HRXT_VERSION_MAJOR 0
#define HRXT_VERSION_MINOR 1


// Host to device copies.
#define HRXT_LANE_UPLOAD 0

// Kernels.
#define HRXT_LANE_COMPUTE 1

// Device to host copies.
#define HRXT_LANE_DOWNLOAD 2

// NPU jobs.
#define HRXT_LANE_NPU 3

// Host work.
#define HRXT_LANE_HOST 4

// `hrxt_event.flags`: it failed.
#define HRXT_FAILED 1

// `hrxt_event.flags`: it was cancelled, which is no failure.
#define HRXT_CANCELLED 4

// `hrxt_argument.kind`: `number.u64`.
#define HRXT_U64 0

// `hrxt_argument.kind`: `number.i64`.
#define HRXT_I64 1

// `hrxt_argument.kind`: `number.f64`.
#define HRXT_F64 2

// `hrxt_argument.kind`: `number.u64`, 0 or not.
#define HRXT_BOOL 3

// `hrxt_argument.kind`: `number.text`. It is cut at 256 bytes, and ends where it is not UTF-8.
#define HRXT_TEXT 4

// At most so many arguments are given at once.
#define HRXT_ARGUMENTS_MAX 16

// `hrxt_options.flags`: the pages are not made present at creation. That is faster, and the first lap takes a page fault every 64 events.
#define HRXT_SPARSE 1

// `hrxt_options.flags`: an exit without hrxt_close is not said in the file, and reads as a death.
#define HRXT_SILENT_EXIT 2

// `hrxt_options.flags`: no region is shown while it runs, and open_regions must be 0.
#define HRXT_NO_OPEN_REGIONS 4

// A recorder: a number in the form of a pointer, which is never followed. So one that is null, or was closed, is refused with -EBADF.
typedef struct hrxt_recorder hrxt_recorder;

// Something that the program says about itself: rank, attempt, version.
typedef struct {
  // Not empty, without '=' and control characters.
  const char *key;
  // Without control characters.
  const char *value;
} hrxt_attribute;

// What can be chosen about a capture: hrxt_default_options fills it in, and 0 is the default of all but the size.
typedef struct {
  // sizeof(hrxt_options).
  size_t struct_size;
  // How many events are kept, 64 bytes each; in each ring. By default 65,536.
  uint64_t capacity;
  // Room for names, in bytes, up to 16 MiB. By default 1 MiB.
  uint64_t name_bytes;
  // The period of a thread that says that the process lives, in milliseconds. By default there is none.
  uint64_t heartbeat_ms;
  // What the program says about itself; together up to 656 bytes.
  const hrxt_attribute *attributes;
  // How many attributes there are.
  size_t attribute_count;
  // How many rings the threads share, 1 to 1,024. By default 1.
  uint32_t rings;
  // How many regions the file can show while they run, 512 bytes each, up to 65,534. By default 1,024.
  uint32_t open_regions;
  // How many finished captures of this program stay in the folder. By default all.
  uint32_t keep;
  // HRXT_SPARSE, HRXT_SILENT_EXIT, HRXT_NO_OPEN_REGIONS.
  uint32_t flags;
} hrxt_options;

// A name of events, of one recorder: see hrxt_label. 0: no name.
typedef uint32_t hrxt_label_t;

// A name of arguments, of one recorder: see hrxt_key. 0: no name.
typedef uint32_t hrxt_key_t;

// Where viewers show an event: HRXT_LANE_UPLOAD to HRXT_LANE_HOST, any other number below 2^31, or one that hrxt_lane gave out.
typedef uint32_t hrxt_lane_t;

// A region that runs: a handle by value, 64 bits, which may be kept anywhere, sent to any thread and turned into a pointer and back. 0: none.
// Handles are never used again: one that has ended is refused with -EBADF.
typedef uint64_t hrxt_region_t;

// What is said about a region or a mark: hrxt_event_of fills in a lane and a label, and all else is 0, which means none.
typedef struct {
  // sizeof(hrxt_event).
  size_t struct_size;
  // The submission or graph that it belongs to.
  uint64_t correlation_id;
  // How many bytes it copies. A mark has none.
  uint64_t copied_bytes;
  // Its lane.
  hrxt_lane_t lane;
  // Its name.
  hrxt_label_t label;
  // The caller's error code. A mark has none.
  uint32_t status;
  // HRXT_FAILED, HRXT_CANCELLED. A mark has none.
  uint32_t flags;
} hrxt_event;

// The value of an argument.
typedef union {
  // Of HRXT_U64 and HRXT_BOOL.
  uint64_t u64;
  // Of HRXT_I64.
  int64_t i64;
  // Of HRXT_F64.
  double f64;
  // Of HRXT_TEXT; not null.
  const char *text;
} hrxt_number;

// An argument of a mark, or of a region that is recorded at once.
typedef struct {
  // Its name.
  hrxt_key_t key;
  // HRXT_U64 … HRXT_TEXT.
  uint32_t kind;
  // Its value.
  hrxt_number number;
} hrxt_argument;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// What an error means: a text that is never freed. `error` is what a call returned, negative, or an errno.
const char *hrxt_strerror(int error);

// The defaults of hrxt_options.
hrxt_options hrxt_default_options(void);

// Begins a capture in a new file at `path`, mode 0600. `options` may be null. The recorder is at `*recorder` if this returns 0, else null.
//
// Errors: -EEXIST, -ENOENT (no such folder), -EACCES, -ENOSPC, -ENOMEM, -EMFILE, -EOPNOTSUPP, -EIO, and -EINVAL for a null pointer or what is out of range.
// -E2BIG: the struct says what only a later version knows. No file is left behind.
int hrxt_create(const char *path,
                const hrxt_options *options,
                hrxt_recorder **recorder);

// As hrxt_create, where the environment says: in $HRX_TRACE_FILE, or in the first of $HRX_TRACE_DIR, $XDG_RUNTIME_DIR, $TMPDIR and /tmp that has room.
int hrxt_create_from_environment(const hrxt_options *options,
                                 hrxt_recorder **recorder);

// Ends the capture cleanly. From now on the recorder is refused. Regions that run are not recorded any more; their handles may still be ended.
// May be called while other threads record.
int hrxt_close(hrxt_recorder *recorder);

// Ends the capture cleanly, and keeps the recorder: what is recorded later does nothing.
int hrxt_finish(hrxt_recorder *recorder);

// Forces what was recorded to the disk, so that it survives the death of the kernel too.
int hrxt_sync(hrxt_recorder *recorder);

// Says in the file that the process lives. Usable in a signal handler.
int hrxt_alive(hrxt_recorder *recorder);

// Whether what is recorded now goes into the file: 1 or 0. It does not after hrxt_finish and in a forked child.
int hrxt_is_recording(hrxt_recorder *recorder);

// Writes the file's path and a zero to `buffer`, cut to `size` bytes. Returns the path's length, or an error.
int hrxt_path(hrxt_recorder *recorder, char *buffer, size_t size);

// The name `text` for events: the same text gives the same number. 0: null, closed, or no room for it, which is counted in the file. Takes a lock: name once.
hrxt_label_t hrxt_label(hrxt_recorder *recorder,
                        const char *text);

// The name `text` of the group `group`, such as a domain.
hrxt_label_t hrxt_label_in(hrxt_recorder *recorder, const char *group, const char *text);

// The name `text` for arguments: as hrxt_label.
hrxt_key_t hrxt_key(hrxt_recorder *recorder, const char *text);

// A lane with the name `text`: the same text gives the same lane. 0, which is HRXT_LANE_UPLOAD: null or closed.
hrxt_lane_t hrxt_lane(hrxt_recorder *recorder, const char *text);

// A lane with the name `text` in the group `group`, such as a device.
hrxt_lane_t hrxt_lane_in(hrxt_recorder *recorder, const char *group, const char *text);

// Names the calling thread from now on. Until then it has the name that the operating system knew at its first event.
int hrxt_name_thread(hrxt_recorder *recorder, const char *text);

// Begins a region: from now on until it ends, the file shows that it is running. Any thread may end it.
//
// 0, which every call on a region takes and ignores: the recorder is refused, or 65,536 regions of the process run, which is counted in the file as rejected.
hrxt_region_t hrxt_begin(hrxt_recorder *recorder,
                         hrxt_lane_t lane,
                         hrxt_label_t label);

// As hrxt_begin, with all that can be said. 0 as well for an event that is null or says what this version does not know.
hrxt_region_t hrxt_begin_event(hrxt_recorder *recorder,
                               const hrxt_event *event);

// Records the region as completed now. -EBADF: it has ended. -EBUSY: another thread is in a call with it.
int hrxt_end(hrxt_region_t region);

// As hrxt_end, of a region that copied that many bytes.
int hrxt_end_copied(hrxt_region_t region, uint64_t copied_bytes);

// Records the region as failed now, with the caller's error code; 0: none.
int hrxt_fail(hrxt_region_t region, uint32_t status);

// Records the region as cancelled now, which is no failure.
int hrxt_cancel(hrxt_region_t region);

// hrxt_end as a callback: cudaLaunchHostFunc(stream, hrxt_end_callback, hrxt_to_pointer(region)).
void hrxt_end_callback(void *region);

// Names a region that runs: as all that changes it, the file shows it at once.
int hrxt_set_label(hrxt_region_t region, hrxt_label_t label);

// Sets the submission or graph that a region belongs to.
int hrxt_set_correlation_id(hrxt_region_t region, uint64_t correlation_id);

// Sets how many bytes a region has copied. If that is known only at the end, hrxt_end_copied says it at no cost.
int hrxt_set_copied_bytes(hrxt_region_t region, uint64_t copied_bytes);

// Sets the caller's error code of a region that goes on.
int hrxt_set_status(hrxt_region_t region, uint32_t status);

// Says whether a region waits, as a task does that is not being run: 0 or not.
int hrxt_set_waiting(hrxt_region_t region, int waiting);

// Gives a region that runs an argument, which the file shows at once.
int hrxt_argument_u64(hrxt_region_t region, hrxt_key_t key, uint64_t number);

// As hrxt_argument_u64.
int hrxt_argument_i64(hrxt_region_t region, hrxt_key_t key, int64_t number);

// As hrxt_argument_u64.
int hrxt_argument_f64(hrxt_region_t region, hrxt_key_t key, double number);

// As hrxt_argument_u64, of a truth value: 0 or not.
int hrxt_argument_bool(hrxt_region_t region, hrxt_key_t key, int truth);

// As hrxt_argument_u64. The text is cut at 256 bytes, and ends where it is not UTF-8.
int hrxt_argument_text(hrxt_region_t region, hrxt_key_t key, const char *text);

// Records that something happens now.
int hrxt_mark(hrxt_recorder *recorder, hrxt_lane_t lane, hrxt_label_t label);

// As hrxt_mark, with all that can be said, and up to HRXT_ARGUMENTS_MAX arguments.
int hrxt_mark_event(hrxt_recorder *recorder,
                    const hrxt_event *event,
                    const hrxt_argument *arguments,
                    size_t argument_count);

// Records what a number is now: a queue's depth, the bytes in use. The samples of one number have the same label.
int hrxt_value(hrxt_recorder *recorder, hrxt_label_t label, double number);

// This moment, in nanoseconds of CLOCK_MONOTONIC.
uint64_t hrxt_now(void);

// Records a region that began and ended at these moments, in nanoseconds of CLOCK_MONOTONIC, such as hrxt_now gives. One that began before the capture is not
// recorded, and counted as rejected. One that ends before it begins took no time.
int hrxt_record(hrxt_recorder *recorder,
                hrxt_lane_t lane,
                hrxt_label_t label,
                uint64_t start_ns,
                uint64_t end_ns);

// As hrxt_record, with all that can be said, and up to HRXT_ARGUMENTS_MAX arguments.
int hrxt_record_event(hrxt_recorder *recorder,
                      const hrxt_event *event,
                      uint64_t start_ns,
                      uint64_t end_ns,
                      const hrxt_argument *arguments,
                      size_t argument_count);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#ifdef __cplusplus
extern "C" {
#endif

// An event of which a lane and a label are known. All else is 0.
static inline hrxt_event hrxt_event_of(hrxt_lane_t lane, hrxt_label_t label) {
  hrxt_event event = {sizeof(hrxt_event), 0, 0, 0, 0, 0, 0};
  event.lane = lane;
  event.label = label;
  return event;
}

#if UINTPTR_MAX >= UINT64_MAX
// A region on its way through a callback's void *, and back.
static inline void *hrxt_to_pointer(hrxt_region_t region) { return (void *)(uintptr_t)region; }
static inline hrxt_region_t hrxt_from_pointer(void *pointer) { return (hrxt_region_t)(uintptr_t)pointer; }
#endif

#ifdef __cplusplus
}
#endif

// The same calls, of which nothing is left where HRXT_OFF is defined: no call, no argument that is evaluated, and no need for the library.
#ifdef HRXT_OFF
#define HRXT_CREATE(path, options, recorder) ((void)sizeof(path), (void)sizeof(options), (void)sizeof(recorder), 0)
#define HRXT_CLOSE(recorder) ((void)sizeof(recorder))
#define HRXT_LABEL(recorder, text) ((void)sizeof(recorder), (void)sizeof(text), (hrxt_label_t)0)
#define HRXT_BEGIN(recorder, lane, label) ((void)sizeof(recorder), (void)sizeof(lane), (void)sizeof(label), (hrxt_region_t)0)
#define HRXT_END(region) ((void)sizeof(region))
#define HRXT_FAIL(region, status) ((void)sizeof(region), (void)sizeof(status))
#define HRXT_MARK(recorder, lane, label) ((void)sizeof(recorder), (void)sizeof(lane), (void)sizeof(label))
#define HRXT_VALUE(recorder, label, number) ((void)sizeof(recorder), (void)sizeof(label), (void)sizeof(number))
#else
#define HRXT_CREATE(path, options, recorder) hrxt_create((path), (options), (recorder))
#define HRXT_CLOSE(recorder) ((void)hrxt_close(recorder))
#define HRXT_LABEL(recorder, text) hrxt_label((recorder), (text))
#define HRXT_BEGIN(recorder, lane, label) hrxt_begin((recorder), (lane), (label))
#define HRXT_END(region) ((void)hrxt_end(region))
#define HRXT_FAIL(region, status) ((void)hrxt_fail((region), (status)))
#define HRXT_MARK(recorder, lane, label) ((void)hrxt_mark((recorder), (lane), (label)))
#define HRXT_VALUE(recorder, label, number) ((void)hrxt_value((recorder), (label), (number)))
#endif

#endif
